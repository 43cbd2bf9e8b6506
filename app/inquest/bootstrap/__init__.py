"""The composition root: settings and configuration become a running service. The one place that sees every layer.

home        the database (given, or embedded), migrated, and the installation key
sources     connectors of one workspace, from its integrations
workspace   everything of one workspace: intakes, connectors, catalogue, destinations, models, ceilings
claiming    one claim: its door to the outside, its kits, its pipeline
reporting   the report of a delivery's revision, and of the API
processes   the worker and the HTTP application, assembled
"""
