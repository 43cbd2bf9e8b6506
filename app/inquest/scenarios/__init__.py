"""Recorded incidents with their ground truth, and the server that plays them back."""
