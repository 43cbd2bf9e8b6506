"""The ways in: HTTP, the command line, the Slack socket."""
