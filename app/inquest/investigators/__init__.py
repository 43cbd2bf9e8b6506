"""Who decides the next turn: a model, or the built-in analyst."""
