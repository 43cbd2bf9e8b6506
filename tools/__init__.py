"""Scripts of the house: the environment, and the checks of `make lint`."""
