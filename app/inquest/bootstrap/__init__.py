"""The composition root: settings and configuration become a running service. The one place that sees every layer.

observing    logs and error reports
home         the database (given, or embedded), and the installation key
problems     what is wrong with a configuration, all of it at once
paths        where relative paths of the file begin
naming       what the tools of each integration are called
credentials  how a request is authenticated, from its section
secrets      what a workspace's section names by variable or file
sources      connectors of one workspace, from its integrations
destinations what the section of a destination is built into: its messages
workspace    everything of one workspace: intakes, connectors, catalogue, destinations, models, ceilings
claiming     one claim: its door to the outside, its kits, its pipeline
reporting    the report of a delivery's revision, and of the API
foresight    what an investigation would ask, worked out without asking (--dry-run)
trial        a Prometheus that nobody has connected yet: what fires there (try)
processes    the worker and the HTTP application, assembled
"""
