"""What looks at a night from outside every minute: metrics for a collector, notifications for a person."""
