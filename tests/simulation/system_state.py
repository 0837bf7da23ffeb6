"""What a world has come to, read from its databases and disks, and what is wrong with it.

The clean slate: who was accepted and not deleted is there once, whole, at rest; of who was deleted
nothing is left anywhere.
"""

import collections
import dataclasses
import json
from collections.abc import Iterable, Iterator

import sqlalchemy as sa

from roost import states
from roost.db import wire
from roost.db.api import models as api_models
from roost.db.api import quota
from roost.db.cell import models as cell_models
from roost.db.scheduler import models as scheduler_models
from roost.objects.mapping import CELL0_UUID
from roost.objects.migration import ENDED
from roost.operations.kinds import ATTACH_INTERFACE, DETACH_INTERFACE
from tests.simulation.simulated_cloud import PROJECT, USER, World

_Usages = dict[str, dict[str, int]]
POWER_AT_REST = {
    **{vm: power for power, vm in states.AS_FOUND.items()},
    states.SOFT_DELETED: states.SHUTDOWN,
    states.SHELVED: states.SHUTDOWN,
}


_ON_HOST = (states.RESIZED, states.SOFT_DELETED, states.SHELVED)


@dataclasses.dataclass
class Seen:
    """All that is known of one uuid, wherever it is."""

    uuid: str
    rows: list[tuple[str, sa.Row]] = dataclasses.field(default_factory=list)  # (cell, row)
    buried: list[str] = dataclasses.field(default_factory=list)
    mapping: sa.Row | None = None
    build_request: bool = False
    claims: list[sa.Row] = dataclasses.field(default_factory=list)
    guests: dict[str, int] = dataclasses.field(default_factory=dict)  # host -> power state
    rescued: bool = False  # a guest of it is
    ports: int = 0
    taken: set[str] = dataclasses.field(default_factory=set)  # ports of users that it has
    interfaces: set[str] = dataclasses.field(default_factory=set)  # of its guests, by their ports
    changed_interfaces: int = 0  # how often somebody has asked for that
    gave_up_port: int = 0  # how often its host was gone while it got one, which it keeps
    operations: int = 0
    open_actions: int = 0  # of the history, which have not ended
    faults: int = 0
    moves: list[sa.Row] = dataclasses.field(default_factory=list)  # that are not over

    @property
    def is_nothing(self) -> bool:
        return not any(
            (
                self.rows,
                self.mapping,
                self.build_request,
                self.claims,
                self.guests,
                self.ports,
                self.taken,
                self.operations,
                self.open_actions,
            )
        )

    def __str__(self) -> str:
        rows = [
            f"{cell}: {row.vm_state}/{row.task_state} on {row.host}, attempt {row.attempt}"
            for cell, row in self.rows
        ]
        claims = [f"{claim.state} on {claim.host}" for claim in self.claims]
        return (
            f"rows {rows}, buried in {self.buried}, mapped {self.mapping is not None}, wish"
            f" {self.build_request}, claims {claims}, guests {self.guests}, ports {self.ports},"
            f" taken {self.taken},"
            f" operations {self.operations}, faults {self.faults},"
            f" open actions {self.open_actions}, moves {self.moves}"
        )


class Truth:
    """One look at everything; what names say is by ``names``: uuid -> name, of all ever seen."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.names: dict[str, str] = {}
        self._seen: dict[str, Seen] = {}
        for cell in ("cell0", *world.plan.cell_names):
            self._take_in_cell(cell, *world.servers.read(cell, _cell))
        self._take_in_claims(world.servers.read("scheduler", _claims))
        self._take_in_api(*world.servers.read("api", _api))
        for host, uuids in world.guests().items():
            for uuid in uuids:
                file = world.ground.host_folder(host) / "guests" / f"{uuid}.json"
                guest = json.loads(file.read_text())
                self.of(uuid).guests[host] = guest["power_state"]
                self.of(uuid).rescued |= "rescued_from" in guest
                self.of(uuid).interfaces |= {one["port"] for one in guest["interfaces"]}

    def of(self, uuid: str) -> Seen:
        return self._seen.setdefault(uuid, Seen(uuid))

    def all_seen(self) -> list[Seen]:
        return [*self._seen.values()]

    def named(self, name: str) -> list[Seen]:
        return [self.of(uuid) for uuid, known in sorted(self.names.items()) if known == name]

    def wrong(self, *, kept: Iterable[str], gone: Iterable[str]) -> Iterator[str]:
        """Yield what is wrong.

        :param kept: names of servers that were accepted, and that nobody deleted
        :param gone: names of those that were deleted
        """
        gone = set(gone)
        for name in kept:
            if any(row.soft_deleted_at for seen in self.named(name) for _, row in seen.rows):
                yield f"{name} is put away, though nobody has deleted it"
            if not self.named(name):
                yield f"{name} is lost"
            elif len(self.named(name)) > 1:
                yield f"{name} is there several times: {self.named(name)}"
        for uuid, seen in sorted(self._seen.items()):
            name = self.names.get(uuid, "a stranger")
            if seen.is_nothing:
                continue
            if name in gone:
                yield f"{name} {uuid} was deleted, but there is left: {seen}"
            else:
                reasons = list(self._unwhole(seen))
                if reasons:
                    yield f"{name} {uuid} {', '.join(reasons)}: {seen}"
        yield from self._miscounted()

    def _miscounted(self) -> Iterator[str]:
        if self.quota_used != self.quota_counted:
            yield f"the quota says {self.quota_used}, but there is {self.quota_counted}"
        if self.quota_of_user != self.quota_counted:
            yield f"the only user has {self.quota_of_user} of {self.quota_counted}"

    def _unwhole(self, seen: Seen) -> Iterator[str]:
        if seen.build_request:
            yield "still is a wish"
        yield from self._wrongly_put_away(seen)
        if len(seen.rows) != 1:
            yield f"has {len(seen.rows)} rows"
            return
        cell, row = seen.rows[0]
        if seen.mapping is None or seen.mapping.queued_for_delete:
            yield "is not mapped"
        elif self._cells[seen.mapping.cell_uuid] != cell:
            yield "is mapped elsewhere"
        if row.task_state is not None or seen.operations or seen.open_actions:
            yield "is not at rest"
        elif row.vm_state == states.ERROR:
            yield from self._without_host(seen, row)
        elif (row.vm_state == states.RESIZED) != bool(seen.moves):
            yield "has a move that is not over, and does not wait for its end, or the other way"
        elif row.vm_state in (*states.WITH_GUEST, *_ON_HOST):
            yield from self._misplaced(seen, row)
        elif row.vm_state == states.SHELVED_OFFLOADED:
            yield from self._placed(seen, row)
        else:
            yield "is in no state to rest in"

    def _wrongly_put_away(self, seen: Seen) -> Iterator[str]:
        """Mapping and row must say the same, and know it."""
        if seen.mapping is None or len(seen.rows) != 1:
            return
        row, away = seen.rows[0][1], seen.mapping.put_away_at is not None
        if seen.mapping.operation_uuid is not None:
            yield "was put away or restored, and its cell may not know"
        says = {away, row.vm_state == states.SOFT_DELETED, row.soft_deleted_at is not None}
        if len(says) > 1:
            yield "is put away, and is not"

    def _without_host(self, seen: Seen, row: sa.Row) -> Iterator[str]:
        if not seen.faults:
            yield "is in ERROR and does not say why"
        if row.host is None and (seen.claims or seen.guests or seen.ports):
            yield "is in ERROR and holds something"

    def _placed(self, seen: Seen, row: sa.Row) -> Iterator[str]:
        if row.host is not None or seen.claims or seen.guests:
            yield "is to be on no host"
        if row.shelved_image_id is None:
            yield "has no image"

    def _misplaced(self, seen: Seen, row: sa.Row) -> Iterator[str]:
        power = POWER_AT_REST.get(row.vm_state, row.power_state)
        away = row.vm_state == states.SOFT_DELETED
        if not away and seen.rescued != (row.vm_state == states.RESCUED):
            yield "is rescued, or its guest is, and not the other"
        others = {host for move in seen.moves for host in (move.source_host, move.dest_host)}
        others -= {row.host}
        if seen.guests != {row.host: power, **dict.fromkeys(others, states.SHUTDOWN)}:
            yield f"should have its guest on {row.host} in power state {power}"
        claims = sorted((claim.host, claim.state) for claim in seen.claims)
        if claims != sorted((host, "confirmed") for host in {row.host, *others}):
            yield f"should have a confirmed claim on {row.host}"
        if not seen.changed_interfaces and seen.ports != len(json.loads(row.networks)):
            yield "has other ports than it asked for"
        info = wire.load(row.network_info)
        vifs = {vif.id for vif in info.vifs} if info else set()
        lacks = 0 < len(vifs - seen.interfaces) <= seen.gave_up_port
        if seen.ports != len(vifs) or not (seen.interfaces == vifs or lacks):
            yield f"has ports {vifs}, and its guest {seen.interfaces}"
        if seen.taken != vifs & self._made:
            yield f"has taken the ports {seen.taken} of users"

    def _take_in_cell(
        self, cell: str, rows: list[sa.Row], kept: dict[str, list[str]], moves: list[sa.Row]
    ) -> None:
        for row in rows:
            self.names[row.uuid] = row.display_name
            if row.deleted_at is None:
                self.of(row.uuid).rows.append((cell, row))
            else:
                self.of(row.uuid).buried.append(cell)
        for what, uuids in kept.items():
            for uuid in uuids:
                seen = self.of(uuid)
                setattr(seen, what, getattr(seen, what) + 1)
        for row in moves:
            self.of(row.instance_uuid).moves.append(row)

    def _take_in_claims(self, claims: list[sa.Row]) -> None:
        for row in claims:
            self.of(row.instance_uuid).claims.append(row)

    def _take_in_api(
        self, rows: list[list[sa.Row]], used: _Usages, counted: _Usages, of_user: _Usages
    ) -> None:
        wishes, mappings, cells, made = rows
        self._made = {row.id for row in made}
        for row in made:
            if row.instance_uuid is not None:
                self.of(row.instance_uuid).taken.add(row.id)
        for row in wishes:
            self.of(row.instance_uuid).build_request = True
            self.names[row.instance_uuid] = _name_in(json.loads(row.instance))
        for row in mappings:
            self.of(row.instance_uuid).mapping = row
        self._cells = {row.uuid: row.name for row in cells}
        self._cells[None] = self._cells[CELL0_UUID]
        self.quota_used = _positive(used)
        self.quota_counted = _positive(counted)
        self.quota_of_user = _positive(of_user)


_actions = cell_models.instance_actions.c
_CELL = {
    "ports": sa.select(cell_models.ports.c.instance_uuid),
    "changed_interfaces": sa.select(_actions.instance_uuid).where(
        _actions.action.in_([ATTACH_INTERFACE.action, DETACH_INTERFACE.action])
    ),
    "gave_up_port": sa.select(_actions.instance_uuid).where(
        _actions.action == ATTACH_INTERFACE.action, _actions.message.contains("went down")
    ),
    "operations": sa.select(cell_models.operations.c.instance_uuid),
    "open_actions": sa.select(_actions.instance_uuid).where(_actions.finish_time.is_(None)),
    "faults": sa.select(cell_models.instance_faults.c.instance_uuid),
}
_CLAIMS = sa.select(
    scheduler_models.claims.c.instance_uuid,
    scheduler_models.claims.c.state,
    scheduler_models.hosts.c.host,
).join(scheduler_models.hosts, scheduler_models.hosts.c.id == scheduler_models.claims.c.host_id)
_API = (
    api_models.build_requests,
    api_models.instance_mappings,
    api_models.cell_mappings,
    api_models.made_ports,
)


_MOVES = sa.select(cell_models.migrations).where(cell_models.migrations.c.status.not_in(ENDED))


def _cell(session: sa.Connection) -> tuple[list[sa.Row], dict[str, list[str]], list[sa.Row]]:
    """Read the instances of a cell, whose are the other things in it, and moves under way."""
    rows = session.execute(sa.select(cell_models.instances)).all()
    kept = {what: session.scalars(asked).all() for what, asked in _CELL.items()}
    return rows, kept, session.execute(_MOVES).all()


def _claims(session: sa.Connection) -> list[sa.Row]:
    return session.execute(_CLAIMS).all()


def _api(session: sa.Connection) -> tuple[list[list[sa.Row]], _Usages, _Usages, _Usages]:
    """Read wishes, mappings, cells, ports; quotas as noted, as all is counted, and the user's."""
    rows = [session.execute(sa.select(table)).all() for table in _API]
    of_user = {PROJECT: quota.usage_of_user(session, PROJECT, USER)}
    noted = session.execute(sa.select(api_models.quota_usages)).mappings()
    used = {row["project_id"]: {name: row[name] for name in quota.RESOURCES} for row in noted}
    return rows, used, quota.counted(session), of_user


def _name_in(primitive: dict[str, object]) -> str:
    """Return the display name in a stored object."""
    for key, value in primitive.items():
        if key == "display_name":
            return str(value)
        if isinstance(value, dict) and (found := _name_in(value)):
            return found
    return ""


def _positive(usages: _Usages) -> _Usages:
    found: dict[str, dict[str, int]] = collections.defaultdict(dict)
    for project, amounts in usages.items():
        for name, amount in amounts.items():
            if amount:
                found[project][name] = amount
    return dict(found)
