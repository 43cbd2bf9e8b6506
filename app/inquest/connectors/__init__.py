"""Evidence, read only: one file a vendor."""
