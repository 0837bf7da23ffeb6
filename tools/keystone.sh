#!/bin/sh
# Make sure that the integration tests have a Keystone. Usage: tools/keystone.sh FOLDER
#
# FOLDER/template gets a bootstrapped deployment of Keystone on SQLite, which tests copy: making one
# takes long. FOLDER/venv is where Keystone is, see tools/outside.sh. A second call does nothing
# until the list of packages, the constraints or this script change; calls at the same time wait for
# each other. PYTHON names the interpreter (python3).
set -eu
cd "$(dirname "$0")/.."
folder=$1
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
wanted=$(cat tools/outside.sh tools/keystone.sh tools/keystone.txt tools/constraints.txt | cksum)

sh tools/outside.sh
exec 9>"$folder/lock"
flock 9
[ "$(cat "$folder/installed" 2>/dev/null || true)" = "$wanted" ] && exit 0

rm -rf "$folder/installed" "$folder/template" "$folder/venv"
ln -s "$PWD/.services/outside/venv" "$folder/venv"
mkdir "$folder/template"
cat >"$folder/template/keystone.conf" <<CONF
[database]
connection = sqlite:///$folder/template/keystone.sqlite
[fernet_tokens]
key_repository = $folder/template/keys
[fernet_receipts]
key_repository = $folder/template/keys
[credential]
key_repository = $folder/template/keys
[cache]
enabled = false
[identity]
password_hash_rounds = 4
CONF

manage() {
    "$folder/venv/bin/keystone-manage" --config-file "$folder/template/keystone.conf" "$@" \
        >"$folder/log" 2>&1 || { cat "$folder/log" >&2; exit 1; }
}

manage db_sync
manage fernet_setup --keystone-user "$(id -un)" --keystone-group "$(id -gn)"
manage bootstrap --bootstrap-password admin --bootstrap-region-id RegionOne \
    --bootstrap-public-url http://keystone/v3 --bootstrap-internal-url http://keystone/v3
rm -f "$folder/template/keystone.conf"
echo "$wanted" >"$folder/installed"
