"""`campaign report`: a night, or any span of waves, as one page that needs no network."""
