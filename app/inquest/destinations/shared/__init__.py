"""What several destinations share: the page that a report becomes, its forms, and escaping for each sink."""
