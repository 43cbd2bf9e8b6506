"""Inquest: an incident investigator whose every claim cites evidence that code has checked."""
