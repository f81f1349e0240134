"""Making a nearly right draft right without a model: names, declarations. What comes out is judged like any draft."""
