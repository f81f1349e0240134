"""`campaign init`: reads a decomp repository and writes its campaign.toml."""
