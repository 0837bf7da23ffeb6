#!/bin/sh
# Build doc/ into doc/build; a warning is an error.
set -eu
cd "$(dirname "$0")/.."
sphinx-build --fail-on-warning --keep-going -q -b html doc doc/build
echo "doc: doc/build/index.html"
