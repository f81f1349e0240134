"""The backend without a model: a body that is banked already, in the names of a function of equal words."""
