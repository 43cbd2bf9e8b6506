"""Recorded incidents made by seeded code: the same seed is the same recording, byte for byte."""
