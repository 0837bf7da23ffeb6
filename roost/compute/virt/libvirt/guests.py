"""What is done to one guest of libvirt: functions of its domain, each of which may be repeated."""

import pathlib
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any, Final

import libvirt

from roost import exception, states
from roost.compute.virt.driver import Diagnostics, Guest
from roost.compute.virt.libvirt import measures
from roost.compute.virt.libvirt.elements import element, find, parse
from roost.compute.virt.libvirt.firmware import DirectKernel
from roost.compute.virt.libvirt.identity import (
    NAMESPACE,
    GuestIdentity,
    note_rescued,
    written,
)
from roost.compute.virt.libvirt.interfaces import GuestInterface, VifShape, find_interface
from roost.compute.virt.libvirt.rescue import Rescuer, take_out
from roost.objects import Vif

_KIB_PER_MIB: Final = 1024
_UNPLUGGING: Final = 30.0  # seconds that a guest's system gets to let go of a device
_LOOK: Final = 0.1
# A guest whose memory is dealt with is still a running one to whoever asks.
_HELD_FOR: Final = (
    libvirt.VIR_DOMAIN_PAUSED_USER,
    libvirt.VIR_DOMAIN_PAUSED_IOERROR,
    libvirt.VIR_DOMAIN_PAUSED_UNKNOWN,
    libvirt.VIR_DOMAIN_PAUSED_WATCHDOG,
)
_GOING: Final = libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
_COUNTERS: Final = (
    libvirt.VIR_DOMAIN_STATS_BALLOON
    | libvirt.VIR_DOMAIN_STATS_VCPU
    | libvirt.VIR_DOMAIN_STATS_INTERFACE
    | libvirt.VIR_DOMAIN_STATS_BLOCK
)
_AS_DEFINED: Final = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE


def power_state(domain: Any) -> int:
    """Return how a guest is found, in the numbers of :mod:`roost.states`."""
    state, why = domain.state()
    if state == libvirt.VIR_DOMAIN_PAUSED:
        return states.HELD if why in _HELD_FOR else states.RUNNING
    if domain.isActive():
        return states.RUNNING
    return states.SAVED if domain.hasManagedSaveImage() else states.SHUTDOWN


def describe(domain: Any) -> Guest:
    _state, most_kib, _kib, vcpus, _time = domain.info()
    said = parse(domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE))  # our own words
    return Guest(
        uuid=domain.UUIDString(),
        power_state=power_state(domain),
        vcpus=vcpus,
        memory_mb=most_kib // _KIB_PER_MIB,
        attempt=int(said.attrib["attempt"]),
        rescued=said.attrib["rescued"] == "yes",
    )


def planned(plan: str) -> Guest:
    """Describe a guest of which nothing but its plan is there."""
    domain = parse(plan)
    return Guest(
        uuid=GuestIdentity.of(domain).uuid,
        power_state=states.NOSTATE,
        vcpus=int(domain.findtext("vcpu") or 0),
        memory_mb=_mib(find(domain, "memory")),
        attempt=GuestIdentity.of(domain).attempt,
    )


def _mib(memory: ET.Element) -> int:
    """Read memory as we write it, or as libvirt does."""
    size = int(memory.text or 0)
    return size if memory.get("unit") == "MiB" else size // _KIB_PER_MIB


def as_defined(domain: Any) -> ET.Element:
    """Return what a guest is started from."""
    return parse(domain.XMLDesc(_AS_DEFINED))


def start(domain: Any) -> None:
    """Let a guest run: go on in memory, from saved memory, or from its disks."""
    if power_state(domain) == states.HELD:
        domain.resume()
    elif not domain.isActive():
        domain.create()


def stop(domain: Any) -> None:
    """Pull the plug; memory that was saved is dropped."""
    _pull(domain)
    if domain.hasManagedSaveImage():
        domain.managedSaveRemove()


def ask_to_end(domain: Any) -> None:
    """Press the power button."""
    if domain.isActive():
        domain.shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)


def remove(domain: Any) -> None:
    """Stop a guest, and have libvirt forget it."""
    _pull(domain)
    domain.undefineFlags(_GOING)


def _pull(domain: Any) -> None:
    try:
        if domain.isActive():
            domain.destroy()
    except libvirt.libvirtError:
        if domain.isActive():  # else it has ended by itself meanwhile
            raise


def pause(domain: Any) -> None:
    _change(domain, states.RUNNING, states.HELD, domain.suspend)


def unpause(domain: Any) -> None:
    _change(domain, states.HELD, states.RUNNING, domain.resume)


def suspend(domain: Any) -> None:
    _change(domain, states.RUNNING, states.SAVED, domain.managedSave)


def resume(domain: Any) -> None:
    _change(domain, states.SAVED, states.RUNNING, domain.create)


def _change(domain: Any, before: int, after: int, do: Callable[[], object]) -> None:
    found = power_state(domain)
    if found == before:
        do()
    elif found != after:
        raise exception.Conflict(
            f"The guest {domain.UUIDString()} is in power state {found}, not {before}."
        )


def be_rescued(
    domain: Any, rescuer: Rescuer, disk: pathlib.Path, kernel: DirectKernel | None
) -> None:
    """Have a stopped guest start from another disk, by a kernel or by what is on it."""
    defined = as_defined(domain)
    rescuer.put_into(defined, disk, kernel)
    note_rescued(defined, rescued=True)
    domain.connect().defineXML(written(defined))


def be_usual(domain: Any, own: pathlib.Path) -> None:
    """Have a stopped guest start from its own disk again."""
    defined = as_defined(domain)
    if GuestIdentity.of(defined).rescued:
        take_out(defined, own)
        note_rescued(defined, rescued=False)
        domain.connect().defineXML(written(defined))


def attach(domain: Any, vif: Vif) -> None:
    """Plug an interface in, now and for the times that the guest is started from now on."""
    defined = as_defined(domain)
    interface = GuestInterface.of(vif, VifShape.noted(GuestIdentity.of(defined).notes))
    device = ET.tostring(interface.element(), encoding="unicode")
    if find_interface(defined, interface.port_id) is None:
        domain.attachDeviceFlags(device, libvirt.VIR_DOMAIN_AFFECT_CONFIG)
    if domain.isActive() and _plugged(domain, interface.port_id) is None:
        domain.attachDeviceFlags(device, libvirt.VIR_DOMAIN_AFFECT_LIVE)


def detach(domain: Any, port_id: str) -> None:
    """Unplug an interface.

    :raises roost.exception.Conflict: when the guest's own system does not let go of it
    """
    defined = find_interface(as_defined(domain), port_id)
    if defined is not None:
        device = ET.tostring(defined, encoding="unicode")
        domain.detachDeviceFlags(device, libvirt.VIR_DOMAIN_AFFECT_CONFIG)
    plugged = _plugged(domain, port_id) if domain.isActive() else None
    if plugged is not None:
        device = ET.tostring(plugged, encoding="unicode")
        domain.detachDeviceFlags(device, libvirt.VIR_DOMAIN_AFFECT_LIVE)
        _await_unplugged(domain, port_id)


def _plugged(domain: Any, port_id: str) -> ET.Element | None:
    return find_interface(parse(domain.XMLDesc()), port_id)


def _await_unplugged(domain: Any, port_id: str) -> None:
    deadline = time.monotonic() + _UNPLUGGING
    while domain.isActive() and _plugged(domain, port_id) is not None:
        if time.monotonic() > deadline:
            raise exception.Conflict(
                f"The guest {domain.UUIDString()} does not let go of its interface; it will be"
                " without it when it is started again."
            )
        time.sleep(_LOOK)


def measure(domain: Any, *, uptime: int) -> Diagnostics:
    """Return how a running guest does.

    :param uptime: seconds since it was started, which libvirt does not tell
    """
    connection = domain.connect()
    ((_domain, found),) = connection.domainListGetStats([domain], _COUNTERS)
    macs = as_defined(domain).iterfind("devices/interface/mac")
    return measures.told(
        found,
        macs=[mac.attrib["address"] for mac in macs],
        vcpus=domain.info()[3],
        hypervisor=connection.getType().lower(),
        uptime=uptime,
    )


def begin_copy(domain: Any, own: pathlib.Path, target: pathlib.Path) -> str:
    """Begin to copy a disk of a guest that is in memory, and return its device.

    What is left of a copy that was interrupted ends.
    """
    device = _device_of(domain, own)
    end_copy(domain, device)
    target.unlink(missing_ok=True)
    asked = element(
        "disk",
        element("driver", name="qemu", type="qcow2"),
        element("source", file=target),
        type="file",
    )
    flags = libvirt.VIR_DOMAIN_BLOCK_COPY_TRANSIENT_JOB
    domain.blockCopy(device, ET.tostring(asked, encoding="unicode"), {}, flags)
    return device


def has_copied(domain: Any, device: str) -> bool:
    """Tell whether the copy is whole, and follows what the guest writes."""
    mirror = parse(domain.XMLDesc()).find(f"devices/disk/target[@dev='{device}']/../mirror")
    if mirror is None:
        raise exception.Conflict("The copy of the disk came to an end before it was whole.")
    return mirror.get("ready") == "yes"


def end_copy(domain: Any, device: str) -> None:
    """Let the copy be as it is now."""
    if domain.isActive() and domain.blockJobInfo(device):
        domain.blockJobAbort(device)


def _device_of(domain: Any, path: pathlib.Path) -> str:
    """Return which of its disks a guest has in a file."""
    for disk in parse(domain.XMLDesc()).findall("devices/disk"):
        source, target = disk.find("source"), disk.find("target")
        if source is not None and target is not None and source.get("file") == str(path):
            return target.attrib["dev"]
    raise exception.NotFound(f"The guest {domain.UUIDString()} has no disk {path.name}.")
