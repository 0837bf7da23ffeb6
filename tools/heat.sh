#!/bin/sh
# Make sure that Heat can be run. Usage: tools/heat.sh FOLDER
#
# FOLDER/venv gets Heat from the package index, with the openstack command that knows stacks, in an
# environment of its own. A second call does nothing until the list of packages, the constraints or
# this script change; see tools/apart.sh.
set -eu
cd "$(dirname "$0")/.."
. tools/apart.sh
constraints=roost/rig/openstack/requirements.txt

begin "$1" Heat tools/heat.sh tools/heat.txt $constraints
pip_install --constraint $constraints --requirement tools/heat.txt
whole
