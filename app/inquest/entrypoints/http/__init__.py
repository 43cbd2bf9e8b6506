"""The HTTP API: the alert intake, investigations and their reports, health."""
