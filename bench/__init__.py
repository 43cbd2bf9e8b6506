"""`make bench`: what Inquest costs, measured on real processes with the embedded Postgres. It asserts nothing about time.

`rows` are the lines of a table, `summary` its percentiles, `rounds` how often it is measured, `surroundings` what else used the cores meanwhile.
`installation` runs real `inquest serve` and `inquest work` in a folder of its own and leaves nothing behind; `guard` sees to it
when the bench is killed.
The client of the webhooks is a process of its own: `sender`, out of `pace`, `http11` and `posts`.
`script` is what a model is made to say; `scripted` follows it in this process, `stand_in` for a real worker.
`startup`, `intake`, `first_action`, `effects`, `investigation` and `memory` are the benches.
"""
