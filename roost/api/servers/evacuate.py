"""Evacuation of a server from a host that is down for good.

Only from one that an administrator has forced down: no guest runs there, so that the server never
runs twice. On storage that its new host shares it keeps its disks; else it is created from its
image, and what was on its disks is lost. When the old host is up again it removes what it has.
"""

import uuid
from typing import Any, Final

from roost import exception, states
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import ADMIN, Rule
from roost.api.request import Answer, Call, truth
from roost.api.servers import operations
from roost.api.servers.guest_config import password
from roost.api.servers.moves import ServerMove
from roost.api.servers.policies import SHOW_PLACEMENT_COUNTS
from roost.api.servers.requested_host import check_destination
from roost.api.servers.server_action import action
from roost.api.validation import BOOLEAN, TEXT, Schema, of
from roost.cells import Cell
from roost.objects import Operation
from roost.operations.kinds import EVACUATE
from roost.servicegroup.driver import ServiceGroup

_FOUND_SINCE: Final = 14  # since 2.14 whether storage is shared is found out, not said
_FORCED: Final = range(29, 68)  # with ``force``: the host takes it without most filters
_STOPPED_SINCE: Final = 95  # since 2.95 an evacuated server is stopped


class ServerEvacuation:
    """The action ``evacuate``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Begin it as the request says.

        :raises roost.exception.RoostError: as :meth:`start` does
        """
        asked = call.body["evacuate"]
        secret = asked.get("adminPass") or password()
        self.start(
            call,
            server_ref,
            host=asked.get("host"),
            forced=truth(str(asked.get("force", "")), name="force"),
            stays_down=call.version >= _STOPPED_SINCE,
            secret=secret,
        )
        shows = call.version < _FOUND_SINCE and self._dependencies.options.instance_password
        return Answer({"adminPass": secret} if shows else None, status=200)

    def start(
        self,
        call: Call,
        server_ref: ServerRef,
        *,
        secret: str,
        host: str | None = None,
        forced: bool = False,
        stays_down: bool = False,
    ) -> Operation:
        """Begin the evacuation.

        :param secret: the password of the guest's administrator, if its disks are made anew
        :param host: its new one; None: as the scheduler chooses
        :param forced: whether that takes it without the filters that may be left out
        :param stays_down: whether a server that ran is stopped then
        :raises roost.exception.Invalid: when its host is not forced down, no other host can take
            the server, or ``host`` is its own or none of its cell
        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        instance = server_ref.instance
        if forced and host is None:
            raise exception.Invalid("Can't force to a non-provided destination")
        operations.check(server_ref, EVACUATE)
        assert server_ref.cell is not None, "operations.check refuses it"
        group = self._dependencies.service_group
        check_is_down(group, server_ref.cell, str(instance.host))
        same = "The target host can't be the same one."
        check_destination(self._dependencies, server_ref, host, if_same=same)
        runs = not stays_down and instance.vm_state != states.STOPPED
        move = ServerMove(
            dependencies=self._dependencies,
            call=call,
            server_ref=server_ref,
            kind=EVACUATE,
            migration_uuid=str(uuid.uuid4()),
            flavor=instance.flavor,
            host=host,
            forced=forced,
            power=states.RUNNING if runs else states.SHUTDOWN,
        )
        move.check()
        return move.start(*move.choose(), password=secret)


def check_is_down(group: ServiceGroup, cell: Cell, host: str) -> None:
    """Make sure that a host is forced down: that nothing runs there any more.

    :raises roost.exception.Invalid: when it is not, saying since when it is up or down
    """
    for service, is_down in operations.find_computes(group, cell, [host]):
        if service.forced_down:
            return
        since = f"{service.last_seen_up:%Y-%m-%dT%H:%M:%SZ}"
        if is_down:
            raise exception.Invalid(
                f"Compute service of {host} is down since {since}, but may still run its servers:"
                " make sure that it does not, and force the service down first."
            )
        raise exception.Invalid(f"Compute service of {host} is still in use: it was up at {since}.")
    raise exception.Invalid(
        f"Compute service of {host} could not be found: nobody knows whether {host} still runs its"
        " servers."
    )


RULE: Final = Rule(
    "os_compute_api:os-evacuate", ADMIN, "Evacuate a server from a host that is down."
)
_HOST: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_PLAIN: Final[dict[str, Any]] = {"host": _HOST, "adminPass": TEXT}
ACTIONS: Final = (
    action(
        "evacuate",
        ServerEvacuation,
        RULE,
        Schema(
            {
                1: of({**_PLAIN, "onSharedStorage": BOOLEAN}, required=["onSharedStorage"]),
                _FOUND_SINCE: of(_PLAIN),
                _FORCED.start: of({**_PLAIN, "force": BOOLEAN}),
                _FORCED.stop: of(_PLAIN),
            }
        ),
        checks=(SHOW_PLACEMENT_COUNTS,),
    ),
)
