"""`campaign status`: what is going on, from disk and roll-ups. No daemon is asked, none needs to run."""
