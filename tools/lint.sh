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
check env ROOST_BIND=127.0.0.1:8080 ROOST_API=127.0.0.1:8774 /usr/sbin/haproxy -c -f etc/haproxy/roost.cfg

[ -z "$failed" ] || { echo "lint: failed:$failed" >&2; exit 1; }
