#!/bin/sh
# Make sure that clients of others can be run. Usage: tools/clients.sh FOLDER
#
# FOLDER/venv gets Ansible, libcloud, openstacksdk and the openstack command from the package index,
# with what the functional tests of the latter two need; FOLDER/collections gets openstack.cloud, the
# one of Ansible's many collections that is wanted here. A second call does nothing until a list of
# packages or this script change; calls at the same time wait for each other. PYTHON names the
# interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
COLLECTIONS=ansible==14.5.0 # openstack.cloud 2.6.0, the first for this openstacksdk
folder=$1
mkdir -p "$folder"
wanted=$(cat tools/clients.sh tools/clients.txt tools/tempest.txt tools/constraints.txt | cksum)

exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0

echo "roost: installing clients of others into $folder (a minute)" >&2
rm -rf "$folder/installed" "$folder/collections" "$folder/download"
"${PYTHON:-python3}" -m venv --clear "$folder/venv"
python="$folder/venv/bin/python"
"$python" -m pip install --quiet --disable-pip-version-check --constraint tools/constraints.txt \
    --requirement tools/tempest.txt --requirement tools/clients.txt
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
echo "$wanted" >"$folder/installed"
