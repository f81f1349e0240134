"""What a person at the keyboard needs: install, watch, drain, understand. Reads state files; imports neither daemon."""
