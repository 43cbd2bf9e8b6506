"""The scenario folder format, version 1: read it, check it, move it in time, write it (docs/reference/scenarios.md)."""
