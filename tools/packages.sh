#!/bin/sh
# Make sure that the integration tests find RabbitMQ, PostgreSQL, MariaDB and Redis, or can
# start them, and that they have libvirt, QEMU with UEFI and TPMs, what compiles libvirt's binding for
# Python, what makes networks for guests, HAProxy, and Go with gophercloud. Usage: tools/packages.sh [rig]
#
# With the word rig, only what a rig with real guests needs: neither the other two services nor Go.
# A service that answers at its usual port on loopback needs no package. The Debian packages of the
# others are installed when we are root; their own units are kept from starting then, because the
# tests start private services. Exits 0 when all is there; 1, with a plain message, when something
# is missing and we are not root, or when apt-get fails.
set -eu

case "${1:-}" in
rig) SERVICES="rabbitmq-server:5672 postgresql:5432" OTHERS="" CLIENTS="" ;;
"") SERVICES="rabbitmq-server:5672 postgresql:5432 mariadb-server:3306 redis-server:6379"
    OTHERS="systemd:systemd-analyze haproxy:/usr/sbin/haproxy" # judge our units and our proxy
    OTHERS="$OTHERS etcd-server:etcd memcached:memcached" # keep service groups
    CLIENTS="golang-go golang-github-gophercloud-gophercloud-dev" ;;
*) echo "usage: tools/packages.sh [rig]" >&2 && exit 2 ;;
esac
GUESTS="libvirt-daemon-system qemu-system-x86 qemu-utils ovmf swtpm swtpm-tools"
BINDING="libvirt-dev pkg-config gcc libc6-dev python3-dev"
NETWORKS="iproute2 nftables dnsmasq-base openvswitch-switch"
POLICY=/usr/sbin/policy-rc.d

say() { echo "roost: $*" >&2; }

answers() {
    python3 -c 'import socket, sys; socket.create_connection(("127.0.0.1", int(sys.argv[1])), 2)' \
        "$1" 2>/dev/null
}

installed() {
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) || return 1
    [ "$status" = installed ]
}

list_missing() {
    for need in $SERVICES; do
        installed "${need%:*}" || answers "${need#*:}" || echo "${need%:*}"
    done
    for package in $GUESTS $BINDING $NETWORKS $CLIENTS; do
        installed "$package" || echo "$package"
    done
    for need in $OTHERS; do
        command -v "${need#*:}" >/dev/null || echo "${need%:*}"
    done
}

# Debian asks this file before it starts a service; 101 means no. One that is there stays.
forbid_starting() {
    [ -e "$POLICY" ] && return
    printf '#!/bin/sh\nexit 101\n' >"$POLICY"
    chmod 755 "$POLICY"
    trap 'rm -f "$POLICY"' EXIT
    trap 'exit 1' HUP INT TERM
}

missing=$(list_missing | paste -sd " " -)
[ -z "$missing" ] && exit 0

if [ "$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then
    say "the integration tests, or real guests, need what neither runs on loopback nor is installed."
    say "As root, run: apt-get install $missing"
    exit 1
fi

say "installing $missing"
forbid_starting
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086 # one word per package
if ! { apt-get update -qq && apt-get install -qq -y --no-install-recommends $missing >/dev/null; }
then
    say "apt-get could not install $missing; see its messages above"
    exit 1
fi
