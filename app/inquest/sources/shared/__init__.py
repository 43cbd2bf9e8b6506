"""What several vendor files of sources share."""
