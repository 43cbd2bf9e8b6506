"""Prometheus' HTTP API over recorded samples, with the bytes that Prometheus 2.42 would answer."""
