"""`campaign doctor`: what a night needs, each thing tried for real, with what to do where it fails."""
