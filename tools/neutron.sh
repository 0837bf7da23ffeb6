#!/bin/sh
# Make sure that the integration tests have a Neutron. Usage: tools/neutron.sh FOLDER
#
# FOLDER/template gets empty tables of Neutron on SQLite, which tests copy. FOLDER/venv is where
# Neutron is, see tools/outside.sh. A second call does nothing until the list of packages, the
# constraints or this script change; calls at the same time wait for each other. PYTHON names the
# interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
wanted=$(cat tools/outside.sh tools/neutron.sh tools/neutron.txt tools/constraints.txt | cksum)

sh tools/outside.sh
exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0

rm -rf "$folder/installed" "$folder/template" "$folder/venv"
ln -s "$PWD/.services/outside/venv" "$folder/venv"
mkdir "$folder/template"
"$folder/venv/bin/python" -P tests/outside/neutron_tables.py \
    "sqlite:///$folder/template/neutron.sqlite" >"$folder/log" 2>&1 || {
    cat "$folder/log" >&2
    exit 1
}
echo "$wanted" >"$folder/installed"
