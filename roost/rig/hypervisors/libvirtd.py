"""A libvirtd of our own, beside any other on this machine: with its own sockets, state and guests.

It sees its own folders where all libvirtds of root have theirs, in a mount namespace, so this needs
root.
"""

import pathlib
import shlex
import uuid

from roost.rig.hypervisors import needs

LIBVIRTD, VIRTLOGD = (f"{needs.DAEMONS}/{name}" for name in ("libvirtd", "virtlogd"))
TCP_PORT = 16509
# Its folder of what it knows of QEMU is kept for the next: to find that out takes long.
_PLACES = {
    "run": "/run/libvirt",
    "lib": "/var/lib/libvirt",
    "log": "/var/log/libvirt",
    "etc": "/etc/libvirt",
    "switch": "/run/openvswitch",
    "swtpm": "/var/lib/swtpm-localca",  # who signs what TPMs say of themselves
}
_CACHE = "/var/cache/libvirt"
_LIBVIRTD_CONF = """\
listen_tls = 0
{tcp}
auth_unix_rw = "none"
unix_sock_rw_perms = "0700"
host_uuid = "{uuid}"
log_outputs = "2:file:{folder}/libvirtd.log"
"""
_QEMU_CONF = """\
user = "root"
group = "root"
swtpm_user = "root"
swtpm_group = "root"
dynamic_ownership = 0
security_driver = "none"
cgroup_controllers = [ ]
namespaces = [ ]
stdio_handler = "logd"
max_processes = 0
"""
_TCP = """\
listen_tcp = 1
tcp_port = "{port}"
listen_addr = "{address}"
auth_tcp = "none"\
"""


def lay(folder: pathlib.Path, *, address: str | None = None) -> None:
    """Make the folders of a libvirtd, and its configuration: those of a host of its own.

    :param address: where other hosts reach it, and whereto guests may come from them; none: nowhere
    """
    for name in _PLACES:
        (folder / name).mkdir(parents=True, exist_ok=True)
    tcp = _TCP.format(port=TCP_PORT, address=address) if address else "listen_tcp = 0"
    conf = _LIBVIRTD_CONF.format(folder=folder, uuid=uuid.uuid4(), tcp=tcp)
    migration = f'migration_host = "{address}"\n' if address else ""
    (folder / "etc/libvirtd.conf").write_text(conf)
    (folder / "etc/qemu.conf").write_text(_QEMU_CONF + migration)


def binds(folder: pathlib.Path, cache: pathlib.Path) -> list[str]:
    """Return the commands that put its folders where a libvirtd looks, in a mount namespace."""
    places = {place: folder / name for name, place in _PLACES.items()} | {_CACHE: cache}
    return [
        f"mkdir -p {place} && mount --bind {shlex.quote(str(own))} {place}"
        for place, own in places.items()
    ]
