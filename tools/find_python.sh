#!/bin/sh
# Print a Python that Inquest supports, or say what to do. An interpreter is believed only when it
# runs: version managers leave a python3.12 on the PATH that answers with an error.
set -u

supported='import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))'
seen=''

if [ -n "${PYTHON:-}" ]; then candidates=$PYTHON; else candidates='python3 python3.13 python3.12 python3.11 python'; fi
for candidate in $candidates; do
    version=$("$candidate" -c 'import platform; print(platform.python_version())' 2>/dev/null) || continue
    if ! "$candidate" -c "$supported" 2>/dev/null; then
        seen="$seen $candidate=$version"
    elif ! "$candidate" -c 'import ensurepip, venv' 2>/dev/null; then
        seen="$seen $candidate=$version(no-venv-module)"
    else
        command -v "$candidate"
        exit 0
    fi
done

{
    echo "Inquest needs Python 3.11, 3.12 or 3.13 with its venv module; found:${seen:- none}."
    echo "Ways out:"
    echo "  too old, too new or none: install one (Debian 12+, Ubuntu 24.04+: apt-get install python3 python3-venv;"
    echo "    macOS: brew install python@3.12; anywhere: uv python install 3.12), then"
    echo "    make ... PYTHON=/path/to/python3.12"
    echo "  no-venv-module: apt-get install python3-venv (or python3.X-venv)"
} >&2
exit 1
