"""What happens while it runs: intake, admission, pipeline, effects, delivery, replay, worker, sweep."""
