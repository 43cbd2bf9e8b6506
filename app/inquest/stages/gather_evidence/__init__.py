"""Stage 4: the capped tool loop."""
