"""Simulated cold migration and resize: hosts of one rig access each other's folders."""

import json
import pathlib
import uuid as uuids
from collections.abc import Callable
from typing import Any, Final

from roost import exception, states
from roost.compute.virt.cold_migration import FindImage, NoteCopied
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.fake.migration import FakeGuests
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo

_PARTS: Final = 4  # in which the disks are copied
_MIB: Final = 1024 * 1024
_ANY: Final = str(uuids.UUID(int=0))


class FakeColdMoves:
    """Moves guests that are files: a guest arrives as a file beside those of its host's guests.

    :param described: describes a guest, as its file has it
    :param keep_drive: copies a config drive for a guest, or removes the old one
    """

    def __init__(
        self,
        guests: FakeGuests,
        *,
        described: Callable[[Instance, NetworkInfo, GuestResources], dict[str, Any]],
        keep_drive: Callable[[str, pathlib.Path | None], None],
    ) -> None:
        self._guests = guests
        self._described = described
        self._keep_drive = keep_drive

    def leftovers(self) -> set[str]:
        folder = self._room(_ANY).parent
        return {path.stem for kind in ("room", "before") for path in folder.glob(f"*.{kind}")}

    def prepare(self, instance: Instance) -> str:
        if self._guests.file(instance.uuid).exists():
            raise exception.Conflict(f"The guest {instance.uuid} is on this host.")
        self._guests.strike("prepare")
        room = self._room(instance.uuid)
        room.parent.mkdir(parents=True, exist_ok=True)
        room.write_text("{}")
        return json.dumps({"file": str(room)})

    def discard(self, uuid: str) -> None:
        self._room(uuid).unlink(missing_ok=True)
        self._before(uuid).unlink(missing_ok=True)

    def check(self, uuid: str, room: str) -> None:
        self._guests.contents(uuid)
        if not pathlib.Path(json.loads(room)["file"]).exists():
            raise exception.NotFound(f"There is no room for the guest {uuid} any more.")

    def send(self, uuid: str, room: str, *, reshaped: bool) -> str:
        self._guests.contents(uuid)
        self._guests.strike("migrate")
        return json.dumps({"file": str(self._guests.file(uuid))})

    def adopt(self, uuid: str) -> str | None:
        return None  # nothing of a guest is left of its host

    def keep(self, uuid: str) -> None:
        """Do nothing: other hosts find the guest's file as long as it is there."""

    def arrive(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        offer: str,
        before: Instance,
        image: FindImage,
        copied: NoteCopied,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None,
    ) -> None:
        uuid, room = instance.uuid, self._room(instance.uuid)
        own = self._described(instance, network_info, resources)
        if room.exists():
            self._copy(_MIB * sum(size_mb for _kind, size_mb in own["disks"]), copied)
        self._guests.strike("arrive")
        if room.exists():
            sent = json.loads(pathlib.Path(json.loads(offer)["file"]).read_text())
            self._keep_drive(uuid, config_drive)
            self._guests.write(uuid, _stopped(sent, own))
            room.unlink()
        self._guests.contents(uuid)

    def _copy(self, total: int, copied: NoteCopied) -> None:
        for part in range(_PARTS):
            self._guests.strike("copy")
            copied(total, total * (part + 1) // _PARTS)

    def reshape(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        before: Instance,
        network_info: NetworkInfo,
        resources: GuestResources,
        config_drive: pathlib.Path | None,
    ) -> None:
        uuid, kept = instance.uuid, self._before(instance.uuid)
        self._guests.strike("arrive")
        guest, own = (
            self._guests.contents(uuid),
            self._described(instance, network_info, resources),
        )
        if kept.exists() and guest | own == guest:
            return  # an earlier call has done it, and the guest may run
        if not kept.exists():
            partial = kept.with_suffix(".part")
            partial.write_text(json.dumps(guest))
            partial.replace(kept)
        self._keep_drive(uuid, config_drive)
        self._guests.write(uuid, _stopped(guest, own))

    def restore(self, uuid: str) -> None:
        before = self._before(uuid)
        if before.exists():
            self._guests.write(uuid, json.loads(before.read_text()))
            before.unlink()

    def settle(self, uuid: str) -> None:
        self._before(uuid).unlink(missing_ok=True)

    def _room(self, uuid: str) -> pathlib.Path:
        """Return the path of the file in which a guest arrives."""
        return self._guests.file(uuid).with_suffix(".room")

    def _before(self, uuid: str) -> pathlib.Path:
        """Return the path of the file of what a guest was before it was reshaped."""
        return self._guests.file(uuid).with_suffix(".before")


def _stopped(guest: dict[str, Any], own: dict[str, Any]) -> dict[str, Any]:
    return {**guest, **own, "image": guest.get("image"), "power_state": states.SHUTDOWN}
