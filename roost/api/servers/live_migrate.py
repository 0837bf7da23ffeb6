"""Live migration of a server to another host.

Disks are copied, unless both hosts share their storage: this is found out, whatever the request
says of it (``block_migration``, ``disk_over_commit``). Both hosts check the guest before anything
is changed; the history of the server tells what they have found.
"""

import uuid
from typing import Any, Final

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import ADMIN, MANAGER, Rule
from roost.api.request import Answer, Call, truth
from roost.api.servers import operations
from roost.api.servers.moves import ServerMove
from roost.api.servers.policies import SHOW_PLACEMENT_COUNTS
from roost.api.servers.requested_host import check_destination
from roost.api.servers.server_action import action
from roost.api.validation import BOOLEAN, Schema, of
from roost.operations.kinds import LIVE_MIGRATE

_AUTO_SINCE: Final = 25  # since 2.25 ``block_migration`` may be auto
_FORCED: Final = range(30, 68)  # with ``force``: the host takes it without most filters
_NAMED_HOST: Final = Rule(
    "os_compute_api:os-migrate-server:migrate_live:host",
    ADMIN,
    "Live-migrate a server to a host that the request names.",
    formerly="os_compute_api:os-migrate-server:migrate_live",
)


class LiveMigration:
    """The action ``os-migrateLive``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Begin the move.

        :raises roost.exception.Invalid: when the server cannot leave its host, or no other host
            can take it, or the request names its own or none of its cell
        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        asked = call.body["os-migrateLive"]
        host, instance = asked["host"], server_ref.instance
        forced = truth(str(asked.get("force", "")), name="force")
        if forced and host is None:
            raise exception.Invalid("Can't force to a non-provided destination")
        if host is not None:
            call.require(_NAMED_HOST)
        operations.check(server_ref, LIVE_MIGRATE)
        same = "Cannot migrate to the host where the server exists."
        check_destination(self._dependencies, server_ref, host, if_same=same)
        move = ServerMove(
            dependencies=self._dependencies,
            call=call,
            server_ref=server_ref,
            kind=LIVE_MIGRATE,
            migration_uuid=str(uuid.uuid4()),
            flavor=instance.flavor,
            host=host,
            forced=forced,
        )
        move.check()
        move.start(*move.choose())
        return Answer()


_HOST: Final = {"type": ["string", "null"], "minLength": 1, "maxLength": 255}
_AUTO: Final = {"anyOf": [BOOLEAN, {"type": "string", "enum": ["auto"]}]}
_PLAIN: Final[dict[str, Any]] = {"host": _HOST, "block_migration": _AUTO}
_REQUIRED: Final = ["host", "block_migration"]
ACTIONS: Final = (
    action(
        "os-migrateLive",
        LiveMigration,
        Rule(
            "os_compute_api:os-migrate-server:migrate_live",
            MANAGER,
            "Migrate a server that runs on meanwhile.",
        ),
        Schema(
            {
                1: of(
                    {"host": _HOST, "block_migration": BOOLEAN, "disk_over_commit": BOOLEAN},
                    required=[*_REQUIRED, "disk_over_commit"],
                ),
                _AUTO_SINCE: of(_PLAIN, required=_REQUIRED),
                _FORCED.start: of({**_PLAIN, "force": BOOLEAN}, required=_REQUIRED),
                _FORCED.stop: of(_PLAIN, required=_REQUIRED),
            }
        ),
        checks=(_NAMED_HOST, SHOW_PLACEMENT_COUNTS),
    ),
)
