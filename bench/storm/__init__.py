"""Storms: many alerts at once over few groups, against real processes. What must be true of each is judged by SQL.

storm        a storm: how much of what, and the run of it
judge        what must be true once it is over, from rows and the provider's own count
soak         alerts at a steady rate for a while: memory and tables, and how they grow
"""
