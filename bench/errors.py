"""The one exception of the benches."""


class BenchBroken(Exception):
    """What was to be measured did not happen as planned, so there is nothing to say about its time."""
