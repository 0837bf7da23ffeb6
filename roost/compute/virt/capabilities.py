"""Traits of the driver's capabilities, which flavors and images can require.

A driver has a capability when it implements the protocol; nothing else declares it. The names are
those of os-traits where it has one, otherwise ``CUSTOM_COMPUTE_*``.

A capability that no operation uses yet, as ``MigratesGuests``, has no trait: a flavor that required
it would promise what its servers do not get.
"""

from collections.abc import Mapping
from typing import Final

from roost.compute.virt.driver import (
    AttachesInterfaces,
    GivesConsoles,
    KeepsConsoles,
    MeasuresGuests,
    PausesGuests,
    RescuesGuests,
    SetsPasswords,
    SnapshotsGuests,
    SuspendsGuests,
    VirtDriver,
)

TRAITS: Final[Mapping[type, str]] = {
    AttachesInterfaces: "COMPUTE_NET_ATTACH_INTERFACE",
    GivesConsoles: "CUSTOM_COMPUTE_REMOTE_CONSOLES",
    KeepsConsoles: "CUSTOM_COMPUTE_CONSOLE_OUTPUT",
    MeasuresGuests: "CUSTOM_COMPUTE_DIAGNOSTICS",
    PausesGuests: "CUSTOM_COMPUTE_PAUSE",
    RescuesGuests: "CUSTOM_COMPUTE_RESCUE",
    SetsPasswords: "CUSTOM_COMPUTE_SET_PASSWORD",
    SnapshotsGuests: "CUSTOM_COMPUTE_SNAPSHOT",
    SuspendsGuests: "CUSTOM_COMPUTE_SUSPEND",
}


def traits_of(driver: VirtDriver) -> set[str]:
    """Return the traits of the optional capabilities that the driver has."""
    return {trait for protocol, trait in TRAITS.items() if isinstance(driver, protocol)}
