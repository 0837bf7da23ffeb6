#!/bin/sh
# Make .venv with Roost in it. Usage: tools/environment.sh [extra ...]
#
# Needs a Python of at least 3.11. What is installed is remembered in .venv/installed, so a second
# call does nothing until setup.cfg, pyproject.toml or the constraints change.
set -eu
cd "$(dirname "$0")/.."

say() { echo "roost: $*" >&2; }

find_python() {
    for name in python3 python3.14 python3.13 python3.12 python3.11; do
        if command -v "$name" >/dev/null 2>&1 &&
            "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
            echo "$name"
            return
        fi
    done
    say "no Python of at least 3.11 on the PATH. On Debian 12: apt-get install python3 python3-venv"
    exit 1
}

# Debian keeps the part of Python that makes environments in a package of its own.
install_venv() {
    version=$("$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing the package python$version-venv"
        apt-get update -qq
        DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "python$version-venv" >/dev/null
    else
        say "$1 cannot make an environment. As root: apt-get install python$version-venv"
        exit 1
    fi
}

make_environment() {
    python=$(find_python)
    "$python" -c 'import ensurepip, venv' 2>/dev/null || install_venv "$python"
    say "making .venv with $("$python" --version)"
    "$python" -m venv --clear .venv
}

extras=$(echo "$*" | tr ' ' ',')
wanted=$(cat setup.cfg pyproject.toml tools/constraints.txt | cksum)
installed=$(cat .venv/installed 2>/dev/null || true)

has_all() {
    case "$installed" in "$wanted "*) ;; *) return 1 ;; esac
    for extra in "$@"; do
        case "$installed" in *" $extra "*) ;; *) return 1 ;; esac
    done
}

if [ -x .venv/bin/python ] && has_all "$@"; then
    exit 0
fi
[ -x .venv/bin/python ] || make_environment
say "installing Roost and what it needs${extras:+ to $extras} into .venv (a minute or two)"
.venv/bin/python -m pip install --quiet --disable-pip-version-check \
    --constraint tools/constraints.txt --editable ".${extras:+[$extras]}"
echo "$wanted $* " >.venv/installed
