"""The six stages of an investigation, in order."""
