"""`campaign run`: drafter and gater together in the foreground, for a counted number of waves."""
