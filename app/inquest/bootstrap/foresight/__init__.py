"""What an investigation would ask, of whom, and at what cost: worked out without asking anybody (--dry-run).

foreseen     the answer, as a value
foresee      a post -> what stages 1 to 3 would make of it
money        the most that the model can cost
outlets      what would be sent where
"""
