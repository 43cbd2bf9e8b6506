"""What several vendors' connectors do alike."""
