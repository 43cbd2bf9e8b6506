"""The crash matrix: real processes killed at each named point, and what is true after it (make crash).

schedules    what happens in one run, drawn from its seed
nursery      the parent that every process of ours is forked from
vendors      a model provider, Prometheus, Slack and GitLab, with their journals
postgres     the servers, and a database for each run
house        one run's installation: its files, processes and senders of alerts
drama        one run, from the first alert to quiet
truths       what must be true then, by SQL and the vendors' journals alone
mutants      the guards, taken out one at a time
matrix       many runs at once, counted
"""
