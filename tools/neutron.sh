#!/bin/sh
# Make sure that the integration tests have a Neutron. Usage: tools/neutron.sh FOLDER
#
# FOLDER/venv gets Neutron from the package index, and FOLDER/template empty tables of it on SQLite,
# which tests copy. A second call does nothing until the list of packages, the constraints or this
# script change; calls at the same time wait for each other. PYTHON names the interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
wanted=$(cat tools/neutron.sh tools/neutron.txt tools/constraints.txt | cksum)

exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0

echo "roost: installing Neutron into $folder (some minutes)" >&2
rm -rf "$folder/installed" "$folder/template"
"${PYTHON:-python3}" -m venv --clear "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --constraint tools/constraints.txt --requirement tools/neutron.txt cheroot

mkdir "$folder/template"
"$folder/venv/bin/python" -P tests/outside/neutron_tables.py \
    "sqlite:///$folder/template/neutron.sqlite" >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    exit 1
}
echo "$wanted" >"$folder/installed"
