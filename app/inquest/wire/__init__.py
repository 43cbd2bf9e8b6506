"""The one bounded HTTP transport, redaction and the sanitiser."""
