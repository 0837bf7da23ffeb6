"""How many members of each server group are on each host, as this process knows it."""

from collections.abc import Collection, Mapping
from typing import Final

from roost.db.engine import Session
from roost.db.scheduler import server_groups as group_rows

_REMEMBERED: Final = 10_000  # groups


class Members:
    """Counts by group and host id, kept as long as the group's generation is the one remembered.

    The groups are locked while they are used, so what is here is exact then.
    """

    def __init__(self) -> None:
        self._generations: dict[str, int] = {}
        self._counts: dict[str, dict[int, int]] = {}

    def lock(self, session: Session, group_uuids: Collection[str]) -> None:
        """Let nobody else change these groups until the transaction ends, and read what is new."""
        if not group_uuids:
            return
        generations = group_rows.lock(session, group_uuids)
        new = [
            uuid
            for uuid, generation in generations.items()
            if self._generations.get(uuid) != generation
        ]
        if len(self._counts) > _REMEMBERED:
            self._generations.clear()
            self._counts.clear()
            new = list(generations)
        found = group_rows.members_by_host(session, new) if new else {}
        for uuid in new:
            self._counts[uuid] = dict(found.get(uuid, {}))
            self._generations[uuid] = generations[uuid]

    def on(self, group_uuid: str) -> Mapping[int, int]:
        """Return how many members each host has, by id."""
        return self._counts[group_uuid]

    def committed(self, changes: Mapping[tuple[str, int], int], grown: Collection[str]) -> None:
        """Take over what a commit of this process did: members by group and host, generations."""
        for (uuid, host_id), more in changes.items():
            counts = self._counts[uuid]
            counts[host_id] = counts.get(host_id, 0) + more
        for uuid in grown:
            self._generations[uuid] += 1

    def forget(self, group_uuids: Collection[str]) -> None:
        """Let what is known of these groups be read again."""
        for uuid in group_uuids:
            self._generations.pop(uuid, None)
