"""`campaign demo`: one small campaign from forging to a proven summary, every part real but the model."""
