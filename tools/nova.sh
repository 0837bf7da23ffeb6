#!/bin/sh
# Make sure that answers can be measured by Nova's shapes. Usage: tools/nova.sh FOLDER
#
# FOLDER/venv gets Nova from the package index, in an environment of its own; nothing of it ever runs.
# FOLDER/shapes.json gets what tools/nova_shapes.py reads there. A second call does nothing until the
# list of packages, the constraints or this script change; see tools/apart.sh.
set -eu
cd "$(dirname "$0")/.."
. tools/apart.sh
constraints=roost/rig/openstack/requirements.txt

begin "$1" Nova tools/nova.sh tools/nova.txt tools/nova_shapes.py $constraints
pip_install --no-compile --constraint $constraints --requirement tools/nova.txt
"$python" -IB -W ignore tools/nova_shapes.py >"$folder/shapes.json"
whole
