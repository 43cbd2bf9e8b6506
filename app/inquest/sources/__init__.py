"""Payload bytes to alerts: one pure file a vendor."""
