"""``roost-manage host``: all servers of a host at once."""

import collections
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final

import click

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.request import Call, Query
from roost.api.servers import operations
from roost.api.servers.evacuate import RULE, ServerEvacuation, check_is_down
from roost.api.servers.guest_config import password
from roost.cells import Cell
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn
from roost.context import RequestContext
from roost.db.cell import actions, instances
from roost.db.cell import operations as operation_rows
from roost.objects import Instance
from roost.operations.kinds import EVACUATE

_COLUMNS: Final = ("server", "name", "memory_mib", "state", "result", "host", "reason")
_AT_ONCE: Final = 20
_PAUSE: Final = 0.5  # seconds between two looks at what is under way
_USER: Final = "roost-manage"  # whom the histories of the servers name
_TO_COME: Final = "to be evacuated"
_UNDER_WAY: Final = "under way"
_EVACUATED: Final = "evacuated"
_STAYS: Final = "stays"
_GONE: Final = "gone"
_BEGINS: Final = (_TO_COME, _UNDER_WAY)
Row = dict[str, Any]


@click.group()
def host() -> None:
    """Empty hosts."""


@host.command()
@click.argument("name", metavar="HOST")
@click.option("--to", metavar="HOST", help="Their new host. Default: as the schedulers choose.")
@click.option(
    "--at-once",
    type=click.IntRange(1, 1000),
    default=_AT_ONCE,
    show_default=True,
    help="How many servers are evacuated at the same time.",
)
@click.option("--yes", is_flag=True, help="Do it. Without it, only show what would be done.")
@json_option
@click.pass_context
@pass_deployment
def evacuate(
    deployment: Deployment,
    context: click.Context,
    *,
    name: str,
    to: str | None,
    at_once: int,
    yes: bool,
    as_json: bool,
) -> None:
    """Evacuate all servers of a host that is off for good and was forced down, the largest first.

    Waits until each has ended, and says of each where it is, or why it could not leave. What was
    begun goes on if this is interrupted. It may be repeated: it goes on with those that are left.
    Exits with 1 if a server is left on the host.
    """
    evacuation = HostEvacuation(deployment.api, deployment.cells.of_host(name), name, to=to)
    rows = evacuation.plan()
    if yes:
        rows = _followed(evacuation, rows, at_once)
    show_rows(rows, _COLUMNS, as_json=as_json)
    if not yes:
        warn("nothing is done without --yes")
    done = (_EVACUATED, _GONE) if yes else _BEGINS
    if any(row["result"] not in done for row in rows):
        context.exit(1)


def _followed(evacuation: "HostEvacuation", planned: Sequence[Row], at_once: int) -> list[Row]:
    """Carry a plan out, and say of each server what has become of it as soon as it is known.

    What is known when the schedulers or the cell fail is said, too.
    """
    rows: list[Row] = []
    for row in evacuation.run(planned, at_once):
        rows.append(row)
        reason = f": {row['reason']}" if row["reason"] else f" to {row['host']}"
        warn(f"{len(rows)} of {len(planned)}: {row['server']} {row['result']}{reason}")
    return rows


class HostEvacuation:
    """The evacuation of all servers of a host, each as a request to the API would begin it.

    Nothing is kept but the rows of the servers: so whoever runs it again goes on with those that
    are still on the host.

    :param to: the new host of all
    """

    def __init__(self, api: Dependencies, cell: Cell, host: str, *, to: str | None) -> None:
        self._cell, self._host, self._to, self._api = cell, host, to, api
        self._evacuation = ServerEvacuation(api)

    def plan(self) -> list[Row]:
        """Return the servers of the host, and of each that cannot be evacuated, why.

        :raises roost.exception.Invalid: when the host is not forced down
        """
        check_is_down(self._api.service_group, self._cell, self._host)
        found = self._cell.database.query(instances.list_on_host, self._host)
        return [self._planned(each) for each in sorted(found, key=_size, reverse=True)]

    def run(self, planned: Sequence[Row], at_once: int) -> Iterator[Row]:
        """Evacuate those that can be, and yield of each what has become of it.

        :raises roost.exception.Unavailable: when no scheduler answers, or the cell is out of reach
        """
        waiting = collections.deque(row for row in planned if row["result"] in _BEGINS)
        yield from (row for row in planned if row["result"] not in _BEGINS)
        under_way: dict[str, Row] = {}
        while waiting or under_way:
            while waiting and len(under_way) < at_once:
                row = waiting.popleft()
                try:
                    begun = self._begin(row["server"])
                except (exception.Conflict, exception.Invalid) as error:
                    yield row | {"result": _STAYS, "reason": error.message}
                else:
                    if begun is None:
                        yield self._ended(row, None)
                    else:
                        under_way[begun] = row
            time.sleep(_PAUSE)
            for operation_uuid in list(under_way):
                ended = self._cell.database.query(actions.find_end, operation_uuid)
                if ended is not None:
                    yield self._ended(under_way.pop(operation_uuid), ended.message)

    def _planned(self, instance: Instance) -> Row:
        result, reason = _TO_COME, None
        try:
            if self._under_way(instance.uuid) is not None:
                result = _UNDER_WAY
            else:
                operations.check(ServerRef(instance, self._cell), EVACUATE)
        except exception.Conflict as error:
            result, reason = _STAYS, error.message
        return {
            "server": instance.uuid,
            "name": instance.display_name,
            "memory_mib": instance.flavor.memory_mb,
            "state": instance.vm_state,
            "result": result,
            "host": instance.host,
            "reason": reason,
        }

    def _under_way(self, server: str) -> str | None:
        """Return the operation that evacuates a server already, if one does."""
        found = self._cell.database.query(operation_rows.find, server)
        return found.uuid if found is not None and found.kind == EVACUATE.name else None

    def _begin(self, server: str) -> str | None:
        """Return the operation that evacuates a server; None: it has left the host meanwhile."""
        begun = self._under_way(server)
        if begun is not None:
            return begun
        instance = self._cell.database.query(instances.find, server)
        if instance is None or instance.host != self._host:
            return None
        server_ref = ServerRef(instance, self._cell)
        operation = self._evacuation.start(
            self._call(), server_ref, host=self._to, secret=password()
        )
        return str(operation.uuid)

    def _call(self) -> Call:
        """Return a request of its own for each server, as each action has the id of its request."""
        return Call(
            context=RequestContext(is_admin=True, roles=["admin"], user_id=_USER),
            version=1,
            path="",
            params={},
            query=Query({}),
            body=None,
            base_url="",
            policy=self._api.policy,
            rule=RULE,
        )

    def _ended(self, row: Row, why: str | None) -> Row:
        found = self._cell.database.query(instances.find_state, row["server"])
        if found is None:
            return row | {"result": _GONE, "reason": "it was deleted meanwhile"}
        result = _STAYS if found.host == self._host else _EVACUATED
        return row | {
            "result": result,
            "state": found.vm_state,
            "host": found.host,
            "reason": why,
        }


def _size(instance: Instance) -> tuple[int, int]:
    return instance.flavor.memory_mb, instance.flavor.vcpus
