"""Roll-ups of the journals, per minute and per wave, so that nobody re-reads a night to answer about a minute."""
