#!/bin/sh
# Make sure that clients of others can be run. Usage: tools/clients.sh FOLDER
#
# FOLDER/venv gets Ansible, libcloud, openstacksdk and the openstack command from the package index,
# with what the functional tests of the latter two need; FOLDER/collections gets openstack.cloud, the
# one of Ansible's many collections that is wanted here. A second call does nothing until a list of
# packages or this script change; see tools/apart.sh.
set -eu
cd "$(dirname "$0")/.."
. tools/apart.sh
COLLECTIONS=ansible==14.5.0 # openstack.cloud 2.6.0, the first for this openstacksdk

begin "$1" "clients of others" \
    tools/clients.sh tools/clients.txt tools/tempest.txt tools/constraints.txt
rm -rf "$folder/collections" "$folder/download"
pip_install --constraint tools/constraints.txt --requirement tools/tempest.txt \
    --requirement tools/clients.txt
# the collection is content with any Python, other than the newest Ansible
"$python" -m pip download --quiet --disable-pip-version-check --no-deps --only-binary :all: \
    --ignore-requires-python --dest "$folder/download" "$COLLECTIONS"
"$python" - "$folder"/download/*.whl "$folder/collections" <<'PYTHON'
import sys, zipfile
with zipfile.ZipFile(sys.argv[1]) as wheel:
    wanted = [name for name in wheel.namelist() if name.startswith("ansible_collections/openstack/")]
    wheel.extractall(sys.argv[2], wanted)
PYTHON
rm -r "$folder/download"
whole
