#!/bin/sh
# Let systemd judge the units in etc/systemd, as they would be installed with this environment: a
# copy is checked in which /usr/bin/roost-* are the programs beside the Python on the PATH.
set -eu
cd "$(dirname "$0")/.."

command -v systemd-analyze >/dev/null || {
    echo "check_units: there is no systemd-analyze; install the package systemd" >&2
    exit 1
}
programs=$(python -c 'import sys, pathlib; print(pathlib.Path(sys.executable).parent)')
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

cp -r etc/systemd/. "$copy"
sed -i "s|^ExecStart=/usr/bin/|ExecStart=$programs/|" "$copy"/*.service
# systemd takes an instance, not a template
for unit in "$copy"/*@.service; do
    mv "$unit" "${unit%@.service}@one.service"
done

# It exits 0 after most complaints, so any word from it counts.
complaints=$(SYSTEMD_UNIT_PATH="$copy:" systemd-analyze verify "$copy"/*.service 2>&1) || {
    echo "$complaints" >&2
    exit 1
}
if [ -n "$complaints" ]; then
    echo "$complaints" >&2
    exit 1
fi
echo "units: $(ls "$copy"/*.service | wc -l) are fine"
