"""Operations on one guest's libvirt domain; each is idempotent."""

import pathlib
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any, Final

import libvirt

from roost import exception, states
from roost.compute.virt.driver import Diagnostics, Guest
from roost.compute.virt.libvirt import mdevs, measures
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
from roost.compute.virt.libvirt.server_metadata import note_port
from roost.objects import Vif

_KIB_PER_MIB: Final = 1024
_UNPLUGGING: Final = 30.0  # seconds that a guest's system gets to release a device
_LOOK: Final = 0.1
# A guest that is paused for other reasons, as while it is migrated, is reported as running.
_PAUSE_REASONS: Final = (
    libvirt.VIR_DOMAIN_PAUSED_USER,
    libvirt.VIR_DOMAIN_PAUSED_IOERROR,
    libvirt.VIR_DOMAIN_PAUSED_UNKNOWN,
    libvirt.VIR_DOMAIN_PAUSED_WATCHDOG,
)
_UNDEFINE: Final = libvirt.VIR_DOMAIN_UNDEFINE_MANAGED_SAVE | libvirt.VIR_DOMAIN_UNDEFINE_NVRAM
_COUNTERS: Final = (
    libvirt.VIR_DOMAIN_STATS_BALLOON
    | libvirt.VIR_DOMAIN_STATS_VCPU
    | libvirt.VIR_DOMAIN_STATS_INTERFACE
    | libvirt.VIR_DOMAIN_STATS_BLOCK
)
_AS_DEFINED: Final = libvirt.VIR_DOMAIN_XML_INACTIVE | libvirt.VIR_DOMAIN_XML_SECURE


def power_state(domain: Any) -> int:
    """Return a guest's power state, one of :mod:`roost.states`."""
    state, why = domain.state()
    if state == libvirt.VIR_DOMAIN_PAUSED:
        return states.HELD if why in _PAUSE_REASONS else states.RUNNING
    if domain.isActive():
        return states.RUNNING
    return states.SAVED if domain.hasManagedSaveImage() else states.SHUTDOWN


def describe(domain: Any) -> Guest:
    _state, most_kib, _kib, vcpus, _time = domain.info()
    notes = parse(domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE))
    return Guest(
        uuid=domain.UUIDString(),
        power_state=power_state(domain),
        vcpus=vcpus,
        memory_mb=most_kib // _KIB_PER_MIB,
        attempt=int(notes.attrib["attempt"]),
        rescued=notes.attrib["rescued"] == "yes",
    )


def planned(plan: str) -> Guest:
    """Describe a guest that exists only as a plan, not as a domain yet."""
    domain = parse(plan)
    return Guest(
        uuid=GuestIdentity.of(domain).uuid,
        power_state=states.NOSTATE,
        vcpus=int(domain.findtext("vcpu") or 0),
        memory_mb=_mib(find(domain, "memory")),
        attempt=GuestIdentity.of(domain).attempt,
    )


def _mib(memory: ET.Element) -> int:
    """Return memory in MiB, from our own XML or libvirt's."""
    size = int(memory.text or 0)
    return size if memory.get("unit") == "MiB" else size // _KIB_PER_MIB


def as_defined(domain: Any) -> ET.Element:
    """Return the persistent definition, which the next start uses."""
    return parse(domain.XMLDesc(_AS_DEFINED))


def start(domain: Any) -> None:
    """Start a guest: unpause it, or start it from saved memory or from its disks."""
    if power_state(domain) == states.HELD:
        domain.resume()
    elif not domain.isActive():
        _create(domain)


def stop(domain: Any) -> None:
    """Stop a guest at once; saved memory is discarded."""
    _stop_at_once(domain)
    if domain.hasManagedSaveImage():
        domain.managedSaveRemove()


def ask_to_end(domain: Any) -> None:
    """Press the ACPI power button."""
    if domain.isActive():
        domain.shutdownFlags(libvirt.VIR_DOMAIN_SHUTDOWN_ACPI_POWER_BTN)


def remove(domain: Any) -> None:
    """Stop and undefine a guest."""
    _stop_at_once(domain)
    domain.undefineFlags(_UNDEFINE)


def _stop_at_once(domain: Any) -> None:
    try:
        if domain.isActive():
            domain.destroy()
    except libvirt.libvirtError:
        if domain.isActive():  # otherwise it has stopped by itself meanwhile
            raise


def pause(domain: Any) -> None:
    _change(domain, states.RUNNING, states.HELD, domain.suspend)


def unpause(domain: Any) -> None:
    _change(domain, states.HELD, states.RUNNING, domain.resume)


def suspend(domain: Any) -> None:
    _change(domain, states.RUNNING, states.SAVED, domain.managedSave)


def resume(domain: Any) -> None:
    _change(domain, states.SAVED, states.RUNNING, lambda: _create(domain))


def _create(domain: Any) -> None:
    mdevs.create(domain.connect(), as_defined(domain))
    domain.create()


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
    """Define a stopped guest to boot from the rescue disk, with a kernel or that disk's own."""
    defined = as_defined(domain)
    rescuer.put_into(defined, disk, kernel)
    note_rescued(defined, rescued=True)
    domain.connect().defineXML(written(defined))


def be_usual(domain: Any, own: pathlib.Path) -> None:
    """Define a stopped guest to boot from its own disk again."""
    defined = as_defined(domain)
    if GuestIdentity.of(defined).rescued:
        take_out(defined, own)
        note_rescued(defined, rescued=False)
        domain.connect().defineXML(written(defined))


def attach(domain: Any, vif: Vif) -> None:
    """Attach an interface, to the running guest and to its definition."""
    defined = as_defined(domain)
    interface = GuestInterface.of(vif, VifShape.noted(GuestIdentity.of(defined).notes))
    device = ET.tostring(interface.element(), encoding="unicode")
    if find_interface(defined, interface.port_id) is None:
        domain.attachDeviceFlags(device, libvirt.VIR_DOMAIN_AFFECT_CONFIG)
    if domain.isActive() and _plugged(domain, interface.port_id) is None:
        domain.attachDeviceFlags(device, libvirt.VIR_DOMAIN_AFFECT_LIVE)
    note_port(domain, vif.id, vif)


def detach(domain: Any, port_id: str) -> None:
    """Detach an interface.

    :raises roost.exception.Conflict: when the guest's operating system does not release it
    """
    defined = find_interface(as_defined(domain), port_id)
    if defined is not None:
        device = ET.tostring(defined, encoding="unicode")
        domain.detachDeviceFlags(device, libvirt.VIR_DOMAIN_AFFECT_CONFIG)
    note_port(domain, port_id, None)
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
                f"The guest {domain.UUIDString()} does not release its interface; the interface"
                " is detached at the next start."
            )
        time.sleep(_LOOK)


def measure(domain: Any, *, uptime: int) -> Diagnostics:
    """Return the diagnostics of a running guest.

    :param uptime: seconds since it was started, which libvirt does not report
    """
    connection = domain.connect()
    ((_domain, found),) = connection.domainListGetStats([domain], _COUNTERS)
    macs = as_defined(domain).iterfind("devices/interface/mac")
    return measures.diagnostics(
        found,
        macs=[mac.attrib["address"] for mac in macs],
        vcpus=domain.info()[3],
        hypervisor=connection.getType().lower(),
        uptime=uptime,
    )


def begin_copy(domain: Any, own: pathlib.Path, target: pathlib.Path) -> str:
    """Start to copy a disk of a guest that is in memory, and return its device.

    Ends an interrupted copy.
    """
    device = _device_of(domain, own)
    end_copy(domain, device)
    target.unlink(missing_ok=True)
    wanted = element(
        "disk",
        element("driver", name="qemu", type="qcow2"),
        element("source", file=target),
        type="file",
    )
    flags = libvirt.VIR_DOMAIN_BLOCK_COPY_TRANSIENT_JOB
    domain.blockCopy(device, ET.tostring(wanted, encoding="unicode"), {}, flags)
    return device


def has_copied(domain: Any, device: str) -> bool:
    """Return whether the copy is complete, and follows the guest's writes."""
    mirror = parse(domain.XMLDesc()).find(f"devices/disk/target[@dev='{device}']/../mirror")
    if mirror is None:
        raise exception.Conflict("The copy of the disk ended before it was complete.")
    return mirror.get("ready") == "yes"


def end_copy(domain: Any, device: str) -> None:
    """End the copy; it stays as it is now."""
    if domain.isActive() and domain.blockJobInfo(device):
        domain.blockJobAbort(device)


def _device_of(domain: Any, path: pathlib.Path) -> str:
    """Return the device of the guest's disk in a file."""
    for disk in parse(domain.XMLDesc()).findall("devices/disk"):
        source, target = disk.find("source"), disk.find("target")
        if source is not None and target is not None and source.get("file") == str(path):
            return target.attrib["dev"]
    raise exception.NotFound(f"The guest {domain.UUIDString()} has no disk {path.name}.")
