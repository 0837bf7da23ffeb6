#!/bin/sh
# Write the samples in etc/roost, or in the folder given, from the options and policies.
set -eu
cd "$(dirname "$0")/.."
folder=${1:-etc/roost}
export PYTHONWARNINGS=ignore  # libraries speak of their own future

oslo-config-generator --config-file etc/oslo-config-generator.conf \
    --output-file "$folder/roost.conf.sample"
oslopolicy-sample-generator --namespace roost --output-file "$folder/policy.yaml.sample"
