"""Every ceiling of the recorded-backend server and of the scenario loader, in one place."""

from __future__ import annotations

from typing import Final

# Requests
MAX_REQUEST_BODY_BYTES: Final = 1024 * 1024
MAX_PARAMETERS: Final = 200  # of the query string and the form together
MAX_JOURNAL_RECORDS: Final = 100_000  # kept in memory; those left out are counted, the file keeps all
MAX_JOURNAL_TEXT_CHARS: Final = 16_384  # of a query string or form in one record; the cut is marked
MAX_CONNECTIONS: Final = 128  # above it uvicorn answers 503
START_TIMEOUT_S: Final = 10.0
STOP_TIMEOUT_S: Final = 10.0

# PromQL
MAX_EXPRESSION_CHARS: Final = 8192
MAX_EXPRESSION_DEPTH: Final = 64  # the parser recurses without a guard of its own: 20,000 brackets end the process
MAX_EXPRESSION_OPERATORS: Final = 64  # parsing a chain takes time that grows with its square: 4,000 terms take 8 s
MAX_RANGE_POINTS: Final = 11_000  # Prometheus: a resolution above this is refused
MAX_SAMPLES: Final = 5_000_000  # touched by one query; Prometheus has 50,000,000, we are slower
LOOKBACK_MS: Final = 5 * 60 * 1000  # Prometheus' default lookback delta

# LogQL
MAX_LOG_ENTRIES: Final = 5000  # Loki's max_entries_limit_per_query
DEFAULT_LOG_ENTRIES: Final = 100  # Loki's default `limit`
MAX_LOG_SERIES: Final = 500  # Loki's max_query_series
MAX_LOG_RANGE_MS: Final = (30 * 24 + 1) * 3600 * 1000  # Loki's max_query_length, 30d1h
MAX_LOG_MATCHERS: Final = 1000  # Loki's max_streams_matchers_per_query
MAX_LINE_FILTERS: Final = 64
MAX_LINE_TESTS: Final = 4_000_000  # lines times filters of one query: some seconds of work

# GitLab
DEFAULT_PER_PAGE: Final = 20
MAX_PER_PAGE: Final = 100
MAX_PAGE_OFFSET: Final = 50_000  # GitLab refuses offset paging beyond this
DEFAULT_REQUESTS_PER_MINUTE: Final = 600

# A scenario folder
MAX_SCENARIO_FILE_BYTES: Final = 64 * 1024 * 1024
MAX_YAML_DEPTH: Final = 32
MAX_SERIES: Final = 20_000
MAX_LOG_LINES: Final = 500_000
MAX_LOG_LINE_CHARS: Final = 64 * 1024
