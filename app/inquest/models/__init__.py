"""The language models an investigator can ask, and what they cost."""
