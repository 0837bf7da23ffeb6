"""What a guest remembers of itself, in an element of ours beside what libvirt knows of it."""

import dataclasses
import uuid as uuids
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from typing import Final, Self

from roost.compute.virt.libvirt.elements import find
from roost.objects import Instance

NAMESPACE: Final = "urn:roost:guest"
PREFIX: Final = "roost"
_TAG: Final = f"{{{NAMESPACE}}}guest"
_USUAL: Final = f"{{{NAMESPACE}}}usual"
_NAMES: Final = "roost-"


@dataclasses.dataclass(frozen=True)
class GuestIdentity:
    """Whose a guest is, the attempt of the build that made it, and from what it is started.

    ``notes`` are what others will want to know of it later, each under a name of its own.
    """

    uuid: str
    attempt: int
    rescued: bool = False
    notes: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @classmethod
    def made(cls, instance: Instance, notes: Mapping[str, str]) -> Self:
        """Return that of a guest that is to be made."""
        return cls(instance.uuid, instance.attempt, notes=notes)

    @property
    def name(self) -> str:
        """How libvirt's other tools call it."""
        return f"{_NAMES}{self.uuid}"

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
        """Read that of a domain.

        :raises ValueError: when it has none, so it is none of ours
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
    """Return a domain as text, with our own element under the prefix that people know."""
    ET.register_namespace(PREFIX, NAMESPACE)
    return ET.tostring(domain, encoding="unicode")


def note_rescued(domain: ET.Element, *, rescued: bool) -> None:
    """Have a domain of ours remember whether it is rescued."""
    found = domain.find(f"metadata/{_TAG}")
    if found is not None:
        found.set("rescued", "yes" if rescued else "no")


def note_attempt(domain: ET.Element, attempt: int) -> None:
    """Have a domain of ours remember the attempt that it is of."""
    found = domain.find(f"metadata/{_TAG}")
    if found is not None:
        found.set("attempt", str(attempt))


def keep_usual(domain: ET.Element, parts: Iterable[ET.Element]) -> None:
    """Have a domain of ours remember what it usually has."""
    ET.SubElement(find(domain, f"metadata/{_TAG}"), _USUAL).extend(parts)


def take_usual(domain: ET.Element) -> list[ET.Element] | None:
    """Return what a domain was to remember, once; None: it has nothing else than usual."""
    ours = find(domain, f"metadata/{_TAG}")
    kept = ours.find(_USUAL)
    if kept is None:
        return None
    ours.remove(kept)
    return [*kept]


def uuid_in(name: str) -> str | None:
    """Return the uuid in the name of a domain; None: it is none of ours."""
    if not name.startswith(_NAMES):
        return None
    try:
        return str(uuids.UUID(name.removeprefix(_NAMES)))
    except ValueError:
        return None
