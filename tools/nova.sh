#!/bin/sh
# Make sure that answers can be measured by Nova's shapes. Usage: tools/nova.sh FOLDER
#
# FOLDER/venv gets Nova from the package index, in an environment of its own; nothing of it ever runs.
# FOLDER/shapes.json gets what tools/nova_shapes.py reads there. A second call does nothing until the
# list of packages, the constraints or this script change; calls at the same time wait for each other.
# PYTHON names the interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
folder=$1
constraints=roost/rig/openstack/requirements.txt
mkdir -p "$folder"
wanted=$(cat tools/nova.sh tools/nova.txt tools/nova_shapes.py $constraints | cksum)

exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0

echo "roost: installing Nova into $folder (a minute)" >&2
rm -f "$folder/installed"
"${PYTHON:-python3}" -m venv --clear "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-compile \
    --constraint $constraints --requirement tools/nova.txt
"$folder/venv/bin/python" -IB -W ignore tools/nova_shapes.py >"$folder/shapes.json"
echo "$wanted" >"$folder/installed"
