"""Signals extracted from evidence, by pure functions."""
