#!/bin/sh
# Make sure that the integration tests have what is outside Roost: tools/outside.sh
#
# .services/outside gets Keystone, Glance and Neutron as rigs have them, and Tempest, Nova, the
# clients of others and Heat, each in an environment of its own: they share nothing with the
# services. A second call does nothing until a list of packages changes; calls at the same time wait
# for each other. PYTHON names a Python that has Roost (.venv/bin/python).
set -eu
cd "$(dirname "$0")/.."
"${PYTHON:-.venv/bin/python}" -m roost.rig.openstack.packages .services/outside
sh tools/tempest.sh "$PWD/.services/outside/tempest"
sh tools/nova.sh "$PWD/.services/outside/nova"
sh tools/clients.sh "$PWD/.services/outside/clients"
sh tools/heat.sh "$PWD/.services/outside/heat"
