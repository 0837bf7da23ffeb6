"""A tiny Linux guest, made of Debian's packages: a disk that boots as images of clouds do.

Its master boot record starts GRUB, that the kernel of Debian's own cloud images, and that one
program of Busybox. What it says on its serial console, a line each:

- ``guest: boot N`` how often it was booted from this disk;
- ``guest: root disk of N MiB`` how large that is;
- ``guest: command line WORDS`` what its kernel was told;
- ``guest: started by UEFI`` and ``guest: TPM VERSION`` if that is so;
- ``guest: finds THINGS`` what there is of its machine: ``hypervisor`` (if one shows itself),
  ``addresses:BITS``, ``ports:COUNT`` (serial ones), ``hpet``, ``iommu``, ``packed`` (if all of its
  virtio disks and interfaces can have packed rings) and ``pci:CLASS`` for each device;
- ``guest: config drive of UUID`` what its config drive says of it, or ``guest: no config drive``;
- ``guest: agent: WHAT`` when its agent is asked for something: it does nothing but say so;
- ``guest: address CIDR`` what DHCP has given its first interface, if it has one;
- ``guest: metadata of UUID`` what the metadata service says of it, if DHCP has told the way there;
  its user data is a script then, which is run;
- ``guest: ready`` once it takes part in what is done to it;
- ``guest: heard WORDS`` when a line is typed at that console, from then on;
- ``guest: ends`` when its power button was pressed.

It answers ``hello`` to HTTP. No root is needed beyond what apt-get needs to read its lists.
"""

import contextlib
import fcntl
import hashlib
import pathlib
import shutil
import struct
import subprocess
from collections.abc import Iterator

from roost import exception

MEMORY_MB = 128
READY = "guest: ready"
_KERNEL = "linux-image-cloud-amd64"  # stands for the newest one
_PACKAGES = ("busybox-static", "grub-pc-bin", "grub-common")
_MODULES = (
    *("virtio_pci", "virtio_blk", "virtio_net", "af_packet", "button", "evdev", "ext4"),
    *("virtio_scsi", "sd_mod", "sr_mod", "isofs", "virtio_console", "tpm_tis"),
)
_DISK_MIB = 40
_SECTOR = 512
_PARTITION_AT = 2048  # sectors
_LINUX = 0x83
_COMMAND_LINE = "console=ttyS0 quiet panic=1 nokaslr mitigations=off no_timer_check tsc=reliable"
_GRUB = f"""\
set root=(hd0,msdos1)
linux /boot/vmlinuz {_COMMAND_LINE}
initrd /boot/initramfs
boot
"""
_INIT = """\
#!/bin/busybox sh
PATH=/bin
/bin/busybox --install -s /bin
mount -t devtmpfs dev /dev; mount -t proc proc /proc; mount -t sysfs sys /sys
exec </dev/console >/dev/console 2>&1
while read module; do insmod /modules/$module; done </modules/order

for root in /dev/vda1 /dev/sda1; do [ -b $root ] && break; done
mount -t ext4 $root /disk
boots=$(($(cat /disk/boots 2>/dev/null || echo 0) + 1))
echo $boots >/disk/boots
sync
echo "guest: boot $boots"
disk=${root#/dev/}
echo "guest: root disk of $(($(cat /sys/block/${disk%1}/size) / 2048)) MiB"
echo "guest: command line $(cat /proc/cmdline)"
[ -d /sys/firmware/efi ] && echo "guest: started by UEFI"
tpm=/sys/class/tpm/tpm0/tpm_version_major
[ -e $tpm ] && echo "guest: TPM $(cat $tpm)"

echo "guest: finds" $(finds)

for try in 1 2 3 4 5 6 7 8; do [ -b /dev/sr0 ] && break; usleep 50000; done
if mount -t iso9660 -o ro /dev/sr0 /drive 2>/dev/null; then
    uuid=$(sed -n 's/.*"uuid": *"\\([^"]*\\)".*/\\1/p' /drive/openstack/latest/meta_data.json)
    echo "guest: config drive of $uuid"
else
    echo "guest: no config drive"
fi

ip link set lo up
httpd -h /www
lease="udhcpc -i eth0 -n -q -f -t 9 -T 1 -O staticroutes -s /etc/lease"
if [ -e /sys/class/net/eth0 ] && $lease >/dev/null 2>&1; then
    echo "guest: address $(cat /var/run/address)"
fi
if ip route | grep -q ^169.254.169.254; then
    url=http://169.254.169.254/openstack/latest
    uuid=$(wget -q -O - $url/meta_data.json | sed -n 's/.*"uuid": *"\\([^"]*\\)".*/\\1/p')
    echo "guest: metadata of $uuid"
    wget -q -O /var/run/user_data $url/user_data && sh /var/run/user_data
fi

acpid -c /etc/acpi
agent
echo "guest: ready"
while :; do
    read -r words && echo "guest: heard $words" || sleep 1
done
"""
_FINDS = """\
#!/bin/busybox sh
grep -qw hypervisor /proc/cpuinfo && echo hypervisor
echo addresses:$(sed -n '/^address sizes/{s/.*: //;s/ bits phys.*//;p;q}' /proc/cpuinfo)
echo ports:$(grep -c uart:16 /proc/tty/driver/serial)
[ -e /sys/firmware/acpi/tables/HPET ] && echo hpet
[ -e /sys/firmware/acpi/tables/DMAR ] && echo iommu
cd /sys/bus/virtio/devices
features=$(cat /dev/null $(grep -lE '0x000[12]$' */device | sed s/device$/features/))
[ "$features" ] && ! echo "$features" | cut -c35 | grep -q 0 && echo packed
for class in $(cat /sys/bus/pci/devices/*/class); do echo pci:$class; done
"""
# As much of QEMU's guest agent as says that it heard; it listens by the time that this ends.
_AGENT = """\
#!/bin/busybox sh
set -- /sys/bus/virtio/drivers/virtio_console/virtio*
[ -e "$1" ] || exit 0
for try in 1 2 3 4 5 6 7 8; do
    port=$(grep -lx org.qemu.guest_agent.0 /sys/class/virtio-ports/*/name) && break
    usleep 50000
done
port=${port%/name}
exec 3<>/dev/${port##*/}
listen() {
    while read -r line <&3; do
        what=$(echo "$line" | sed -n 's/.*"execute": *"guest-\\([^"]*\\)".*/\\1/p')
        answer=1
        case "$what" in
            sync) answer=$(echo "$line" | sed -n 's/.*"id": *\\([0-9]*\\).*/\\1/p') ;;
            set-user-password) answer="{}" ;;
        esac
        [ "$what" = sync ] || echo "guest: agent: $what" >/dev/console
        echo "{\\"return\\": $answer}" >&3
    done
}
while :; do
    listen
    usleep 100000  # nobody is there to listen to, yet
done &
"""
_LEASE = """\
#!/bin/busybox sh
ip link set $interface up
[ "$1" = bound ] || exit 0
ip address add $ip/$mask dev $interface
echo $ip/$mask >/var/run/address
set -- $staticroutes
while [ $# -gt 1 ]; do
    [ $2 = 0.0.0.0 ] && ip route add $1 dev $interface
    shift 2
done
"""
_POWER_BUTTON = """\
#!/bin/busybox sh
echo "guest: ends" >/dev/console
umount /disk
poweroff -f
"""


def made(folder: pathlib.Path) -> pathlib.Path:
    """Return the disk (qcow2), made in ``folder`` if it is not there as this module makes it.

    The kernel and the ramdisk that are on it lie beside it: :func:`kernel_of`.

    :raises roost.exception.Unavailable: when a package cannot be had, or a program fails
    """
    folder = folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    recipe = hashlib.sha256(pathlib.Path(__file__).read_bytes()).hexdigest()[:16]
    disk = folder / f"guest-{recipe}.qcow2"
    with _alone(folder / "lock"):
        if not disk.exists():
            _make(folder / "work", disk)
    return disk


def kernel_of(disk: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """Return the kernel and the ramdisk of a disk that was made here."""
    return disk.with_suffix(".vmlinuz"), disk.with_suffix(".initramfs")


@contextlib.contextmanager
def _alone(lock: pathlib.Path) -> Iterator[None]:
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(work: pathlib.Path, disk: pathlib.Path) -> None:
    shutil.rmtree(work, ignore_errors=True)
    root = work / "packages"
    for package in (_kernel(), *_PACKAGES):
        _unpack(package, work / "archives", root)
    boot = work / "boot"
    (boot / "boot").mkdir(parents=True)
    (kernel,) = (root / "boot").glob("vmlinuz-*")
    shutil.copy(kernel, boot / "boot/vmlinuz")
    _initramfs(root, work / "initramfs", boot / "boot/initramfs")
    _assemble(root, boot, work)
    _run("qemu-img", "convert", "-O", "qcow2", "-c", work / "disk.raw", work / "disk.qcow2")
    for file, target in zip(("vmlinuz", "initramfs"), kernel_of(disk), strict=True):
        (boot / "boot" / file).rename(target)
    (work / "disk.qcow2").rename(disk)
    shutil.rmtree(work)


def _kernel() -> str:
    """Return the package that the name of all kernels stands for today."""
    if not (found := _depends()):
        _run("apt-get", "update", "-qq")
        found = _depends()
    return found[0]


def _depends() -> list[str]:
    told = _run("apt-cache", "depends", _KERNEL, check=False)
    words = [line.split() for line in told.splitlines()]
    return [line[1] for line in words if line[0] == "Depends:" and "linux-image" in line[1]]


def _unpack(package: str, archives: pathlib.Path, root: pathlib.Path) -> None:
    folder = archives / package
    folder.mkdir(parents=True)
    _run("apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", package, cwd=folder)
    (archive,) = folder.glob("*.deb")
    _run("dpkg-deb", "-x", archive, root)


def _initramfs(root: pathlib.Path, tree: pathlib.Path, target: pathlib.Path) -> None:
    for name in (
        *("bin", "dev", "proc", "sys", "disk", "drive", "modules"),
        *("etc/acpi/PWRF", "var/log", "var/run", "www"),
    ):
        (tree / name).mkdir(parents=True)
    shutil.copy(root / "bin/busybox", tree / "bin/busybox")
    (tree / "bin/sh").symlink_to("busybox")
    _script(tree / "init", _INIT)
    _script(tree / "bin/agent", _AGENT)
    _script(tree / "bin/finds", _FINDS)
    _script(tree / "etc/lease", _LEASE)
    (tree / "www/index.html").write_text("hello\n")
    _script(tree / "etc/acpi/PWRF/00000080", _POWER_BUTTON)
    order = _in_order(root)
    for module in order:
        shutil.copy(module, tree / "modules")
    (tree / "modules/order").write_text("".join(f"{module.name}\n" for module in order))
    names = "".join(f"{path.relative_to(tree)}\n" for path in sorted(tree.rglob("*")))
    target.write_bytes(
        subprocess.run(
            [root / "bin/busybox", "cpio", "-o", "-H", "newc"],
            cwd=tree,
            input=names.encode(),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            check=True,
        ).stdout
    )


def _script(path: pathlib.Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def _in_order(root: pathlib.Path) -> list[pathlib.Path]:
    """Return the modules, each after those that it needs; some are in the kernel itself."""
    known = {path.stem.replace("-", "_"): path for path in root.glob("lib/modules/**/*.ko")}
    order: list[pathlib.Path] = []

    def take(name: str) -> None:
        path = known.get(name)
        if path is None or path in order:
            return
        needs = path.read_bytes().partition(b"\0depends=")[2].partition(b"\0")[0].decode()
        for needed in filter(None, needs.split(",")):
            take(needed.replace("-", "_"))
        order.append(path)

    for name in _MODULES:
        take(name)
    return order


def _assemble(root: pathlib.Path, boot: pathlib.Path, work: pathlib.Path) -> None:
    """Write master boot record, GRUB behind it, and one partition."""
    grub, config = root / "usr/lib/grub/i386-pc", work / "grub.cfg"
    config.write_text(_GRUB)
    _run(
        *(root / "usr/bin/grub-mkimage", "-d", grub, "-O", "i386-pc", "-p", "(hd0,msdos1)/boot"),
        *("-c", config, "-o", work / "core.img", "biosdisk", "part_msdos", "ext2", "linux"),
    )
    part = work / "part.img"
    # without a journal, so that a guest whose plug is pulled has little to put right
    _run(
        *("/sbin/mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal,^metadata_csum,^64bit"),
        *("-E", "root_owner=0:0", "-d", boot, part, f"{_DISK_MIB - 1}M"),
    )
    sectors = (_DISK_MIB - 1) * 2048
    entry = struct.pack("<B3sB3sII", 0x80, b"", _LINUX, b"", _PARTITION_AT, sectors)
    record = (grub / "boot.img").read_bytes()[:446] + entry.ljust(64, b"\0") + b"\x55\xaa"
    core = (work / "core.img").read_bytes()
    assert len(core) < (_PARTITION_AT - 1) * _SECTOR
    head = (record + core).ljust(_PARTITION_AT * _SECTOR, b"\0")
    (work / "disk.raw").write_bytes(head + part.read_bytes())


def _run(*command: object, cwd: pathlib.Path | None = None, check: bool = True) -> str:
    done = subprocess.run(
        [str(word) for word in command], cwd=cwd, capture_output=True, text=True, check=False
    )
    if check and done.returncode:
        told = done.stderr or done.stdout
        raise exception.Unavailable(f"the guest's disk was not made: {command[0]} failed: {told}")
    return done.stdout
