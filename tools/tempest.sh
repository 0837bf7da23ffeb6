#!/bin/sh
# Make sure that Tempest can be run. Usage: tools/tempest.sh FOLDER
#
# FOLDER/venv gets Tempest from the package index: an environment of its own, for it shares nothing
# with the services that it asks. A second call does nothing until the list of packages, the
# constraints or this script change; see tools/apart.sh.
set -eu
cd "$(dirname "$0")/.."
. tools/apart.sh

begin "$1" Tempest tools/tempest.sh tools/tempest.txt tools/constraints.txt
pip_install --constraint tools/constraints.txt --requirement tools/tempest.txt
whole
