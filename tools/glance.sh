#!/bin/sh
# Make sure that the integration tests have a Glance. Usage: tools/glance.sh FOLDER
#
# FOLDER/template gets an empty database of Glance in SQLite, which tests copy: making one takes
# long. FOLDER/venv is where Glance is, see tools/outside.sh. A second call does nothing until the
# list of packages, the constraints or this script change; calls at the same time wait for each
# other. PYTHON names the interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
wanted=$(cat tools/outside.sh tools/glance.sh tools/glance.txt tools/constraints.txt | cksum)

sh tools/outside.sh
exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0

rm -rf "$folder/installed" "$folder/template" "$folder/venv"
ln -s "$PWD/.services/outside/venv" "$folder/venv"
mkdir "$folder/template"
cat >"$folder/template/glance.conf" <<CONF
[database]
connection = sqlite:///$folder/template/glance.sqlite
CONF
"$folder/venv/bin/glance-manage" --config-file "$folder/template/glance.conf" db_sync \
    >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
rm -f "$folder/template/glance.conf"
echo "$wanted" >"$folder/installed"
