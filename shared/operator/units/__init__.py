"""systemd units: rendered from systemd/*.in for one campaign, installed, verified, compared with what is installed."""
