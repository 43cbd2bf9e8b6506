"""GitLab's REST API, version 4, over recorded changes."""
