"""Roost's own metadata element in a guest's libvirt domain."""

import dataclasses
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Any, Final, Self

import libvirt

from roost.compute.virt.libvirt import server_metadata
from roost.compute.virt.libvirt.connection import NO_GUEST
from roost.compute.virt.libvirt.elements import find
from roost.objects import Instance

NAMESPACE: Final = "urn:roost:guest"
PREFIX: Final = "roost"
_TAG: Final = f"{{{NAMESPACE}}}guest"
_USUAL: Final = f"{{{NAMESPACE}}}usual"


@dataclasses.dataclass(frozen=True)
class GuestIdentity:
    """The guest's uuid, the attempt of the build that created it, and whether it is rescued.

    ``notes`` are further values for other modules, by name.
    """

    uuid: str
    attempt: int
    rescued: bool = False
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def made(cls, instance: Instance, notes: Mapping[str, str]) -> Self:
        """Return the identity of a new guest."""
        return cls(instance.uuid, instance.attempt, notes=notes)

    def with_notes(self, notes: Mapping[str, str]) -> Self:
        """Return the same with further notes."""
        return dataclasses.replace(self, notes={**self.notes, **notes})

    def element(self) -> ET.Element:
        attributes = {
            "uuid": self.uuid,
            "attempt": str(self.attempt),
            "rescued": "yes" if self.rescued else "no",
            **self.notes,
        }
        return ET.Element(_TAG, attributes)

    @classmethod
    def of(cls, domain: ET.Element) -> Self:
        """Read the identity in a domain.

        :raises ValueError: when it has none, so it is not a guest of Roost
        """
        found = domain.find(f"metadata/{_TAG}")
        if found is None:
            raise ValueError(f"the domain {domain.findtext('name')} is no guest of Roost")
        notes = dict(found.attrib)
        return cls(
            uuid=notes.pop("uuid"),
            attempt=int(notes.pop("attempt")),
            rescued=notes.pop("rescued") == "yes",
            notes=notes,
        )


def written(domain: ET.Element) -> str:
    """Return a domain as text, with its metadata elements under their usual prefixes."""
    ET.register_namespace(PREFIX, NAMESPACE)
    ET.register_namespace(server_metadata.PREFIX, server_metadata.NAMESPACE)
    return ET.tostring(domain, encoding="unicode")


def note_rescued(domain: ET.Element, *, rescued: bool) -> None:
    """Record in a domain whether it is rescued."""
    found = domain.find(f"metadata/{_TAG}")
    if found is not None:
        found.set("rescued", "yes" if rescued else "no")


def note_attempt(domain: ET.Element, attempt: int) -> None:
    """Record the build attempt in a domain."""
    found = domain.find(f"metadata/{_TAG}")
    if found is not None:
        found.set("attempt", str(attempt))


def keep_usual(domain: ET.Element, parts: Iterable[ET.Element]) -> None:
    """Save the usual boot elements in the domain's metadata."""
    ET.SubElement(find(domain, f"metadata/{_TAG}"), _USUAL).extend(parts)


def take_usual(domain: ET.Element) -> list[ET.Element] | None:
    """Remove the saved boot elements from a domain and return them; None: none are saved."""
    ours = find(domain, f"metadata/{_TAG}")
    kept = ours.find(_USUAL)
    if kept is None:
        return None
    ours.remove(kept)
    return [*kept]


def is_guest(domain: Any) -> bool:
    """Return whether a domain of libvirt is a guest of Roost; False: or it is gone meanwhile."""
    try:
        domain.metadata(libvirt.VIR_DOMAIN_METADATA_ELEMENT, NAMESPACE)
    except libvirt.libvirtError as error:
        if error.get_error_code() in NO_GUEST:
            return False
        raise
    return True
