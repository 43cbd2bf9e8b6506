# Inquest. Each target works on a fresh machine with Python 3.11 to 3.13 and make, nothing else.
# PYTHON=/path/to/python chooses the interpreter; ARGS="-k name" goes to pytest or inquest.

BIN := .venv/bin
ARGS ?=
# Two test processes: CI has two cores. worksteal, because a few slow files must not decide the length.
PYTEST := $(BIN)/python -m pytest

.DEFAULT_GOAL := help
.PHONY: help demo test lint e2e outage bench storm soak crash crash-mutants up lock clean lint-ruff lint-format lint-types lint-imports lint-house moved

help: ## Show this list
	@sed -n 's/^\([a-z0-9-]*\):.*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 15

demo: .venv/ready-runtime ## A recorded incident, end to end: no key, no vendor
	$(BIN)/inquest demo $(ARGS)

up: .venv/ready-runtime ## Run the service here: API and worker, with the embedded Postgres unless a URL is given
	$(BIN)/inquest up $(ARGS)

test: .venv/ready-dev ## All tests but e2e
	$(PYTEST) -m "not e2e" -n 2 --dist worksteal $(ARGS)

e2e: .venv/ready-dev ## Tests with whole processes and a real Prometheus and Alertmanager (installs them on Debian)
	sh tools/install_e2e_servers.sh
	$(PYTEST) -m e2e -n 2 --dist loadfile $(ARGS)

crash: .venv/ready-dev ## Real processes killed at 24 named points, 20 schedules each (ARGS="--schedules 3" is the short form)
	$(BIN)/python -m tests.crash $(ARGS)

crash-mutants: .venv/ready-dev ## The guards of durability taken out one at a time: each must turn the matrix red
	$(BIN)/python -m tests.crash --mutants $(ARGS)

outage: .venv/ready-dev ## Postgres away for 60 s under load, stopped and then frozen (the short form is in e2e)
	$(PYTEST) tests/e2e/test_postgres_away.py --away-s 60 $(ARGS)

bench: .venv/ready-dev ## Measurements; never part of the tests
	$(BIN)/python -m bench $(ARGS)

storm: .venv/ready-dev ## 10,000 alerts in a minute over 20 groups, twice: what comes of them, to the row
	$(BIN)/python -m bench.storm $(ARGS)

soak: .venv/ready-dev ## 20 alerts a second for ten minutes (ARGS="--minutes N"): how memory and tables grow
	$(BIN)/python -m bench.storm.soak $(ARGS)

lint: .venv/ready-dev ## Every check of the code, all of them even when one fails
	@$(MAKE) --no-print-directory --keep-going lint-ruff lint-format lint-types lint-imports lint-house

lint-ruff: .venv/ready-dev
	$(BIN)/ruff check .
lint-format: .venv/ready-dev
	$(BIN)/ruff format --check .
lint-types: .venv/ready-dev
	$(BIN)/mypy
lint-imports: .venv/ready-dev
	$(BIN)/lint-imports --no-logo
lint-house: .venv/ready-dev
	$(BIN)/python -m tools.check

# Pins stay unless UPGRADE=1. A release must have been public for a week first (ADR 0002).
COMPILE = $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--exclude-newer "7 days" --custom-compile-command "make lock" $(if $(UPGRADE),--upgrade)
lock: .venv/ready-uv ## Write the lock files anew from pyproject.toml (UPGRADE=1 moves the pins)
	$(COMPILE) -o requirements/bootstrap.lock requirements/bootstrap.in
	$(COMPILE) -o requirements.lock pyproject.toml requirements/build.in
	$(COMPILE) -o requirements/dev.lock --extra dev -c requirements.lock pyproject.toml requirements/build.in

clean: ## Remove the environment and all caches (not .inquest/, which holds your investigations)
	rm -rf .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache dist
	find app bench tests tools -name __pycache__ -type d -prune -exec rm -rf {} +

# The stamps are made by setup_venv.py as its last act. A moved checkout has an environment of elsewhere.
MOVED := $(if $(wildcard .venv/made-in),$(if $(filter-out $(subst $() ,?,$(CURDIR)),$(subst $() ,?,$(shell cat .venv/made-in))),moved))
HOUSE := pyproject.toml requirements/bootstrap.lock tools/setup_venv.py $(MOVED)
SETUP = python=$$(PYTHON="$(PYTHON)" sh tools/find_python.sh) && "$$python" tools/setup_venv.py

.venv/ready-uv: requirements/bootstrap.lock tools/setup_venv.py $(MOVED)
	@$(SETUP) uv
.venv/ready-runtime: requirements.lock $(HOUSE)
	@$(SETUP) runtime
.venv/ready-dev: requirements/dev.lock $(HOUSE)
	@$(SETUP) dev
