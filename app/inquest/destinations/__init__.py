"""Where reports go: one file a destination."""
