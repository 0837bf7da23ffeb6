#!/bin/sh
# Make sure that Tempest can be run. Usage: tools/tempest.sh FOLDER
#
# FOLDER/venv gets Tempest from the package index: an environment of its own, for it shares nothing
# with the services that it asks. A second call does nothing until the list of packages, the
# constraints or this script change; calls at the same time wait for each other. PYTHON names the
# interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder"
wanted=$(cat tools/tempest.sh tools/tempest.txt tools/constraints.txt | cksum)

exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0

echo "roost: installing Tempest into $folder (a minute)" >&2
rm -f "$folder/installed"
"${PYTHON:-python3}" -m venv --clear "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --constraint tools/constraints.txt --requirement tools/tempest.txt
echo "$wanted" >"$folder/installed"
