#!/bin/sh
# Build doc/ into doc/build, anew each time because pages depend on the code; a warning is an error.
set -eu
cd "$(dirname "$0")/.."
sphinx-build --fail-on-warning --keep-going --fresh-env -q -b html doc doc/build
echo "doc: doc/build/index.html"
