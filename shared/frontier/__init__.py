"""The frontier index: every stub and banked function of a project with its features, in SQLite under cache/."""
