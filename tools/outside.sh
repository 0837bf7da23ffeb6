#!/bin/sh
# Make sure that the integration tests have the services outside Roost: tools/outside.sh [NAME ...]
#
# .services/outside/venv gets Keystone, Glance and Neutron from the package index: one environment
# for all, as they agree on what else they need. Then tools/NAME.sh makes what tests copy of each
# service named, in .services/outside/NAME; tempest, which is none of them, has an environment of
# its own there. A second call does nothing until a list of packages or a script changes; calls at
# the same time wait for each other. PYTHON names the interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
folder=$PWD/.services/outside
mkdir -p "$folder"

install_all() {
    wanted=$(cat tools/outside.sh tools/keystone.txt tools/glance.txt tools/neutron.txt \
        tools/constraints.txt | cksum)
    [ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && return
    echo "roost: installing Keystone, Glance and Neutron into $folder (a minute or two)" >&2
    rm -f "$folder/installed"
    "${PYTHON:-python3}" -m venv --clear "$folder/venv"
    "$folder/venv/bin/python" -m pip install --quiet --disable-pip-version-check \
        --constraint tools/constraints.txt --requirement tools/keystone.txt \
        --requirement tools/glance.txt --requirement tools/neutron.txt cheroot
    echo "$wanted" >"$folder/installed"
}

(
    flock 9
    install_all
) 9>"$folder/lock"
for name in "$@"; do
    sh "tools/$name.sh" "$folder/$name"
done
