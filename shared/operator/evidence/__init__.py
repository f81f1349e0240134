"""Evidence kept by the gater, shown: the backlog, every attempt at a function, exports for other tools."""
