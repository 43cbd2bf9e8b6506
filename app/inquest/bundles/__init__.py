"""One investigation as one file, for whoever has no access to its database: written, read, checked, compared."""
