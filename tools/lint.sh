#!/bin/sh
# What must hold before anything is tested. Runs everything, then fails if anything failed.
set -u
cd "$(dirname "$0")/.."
failed=""

check() {
    echo "-- $*"
    "$@" || failed="$failed $1"
}

check ruff check .
check ruff format --check .
check mypy
check lint-imports
check codespell
check sh tools/check_units.sh

[ -z "$failed" ] || { echo "lint: failed:$failed" >&2; exit 1; }
