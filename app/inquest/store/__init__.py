"""Postgres: one file a concern."""
