"""Resize: a server moves to another host with another flavor, or gets it on its own host.

The quota of the project is charged first, for the larger of both flavors; a super-conductor gives
back what is not needed when the move is over (``conductor/super/resizes.py``).
"""

import functools
import time
import uuid
from collections.abc import Mapping
from typing import Any, Final

from roost import exception
from roost.api.compute.flavors import REFERENCE, usable_flavor
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import operations
from roost.api.servers.guest_config import disk_config_of
from roost.api.servers.moves import ServerMove
from roost.api.servers.policies import SHOW_PLACEMENT_COUNTS
from roost.api.servers.server_action import action
from roost.api.validation import of
from roost.db.api import resizes
from roost.db.cell import migrations
from roost.hardware.requirements import check_other_image
from roost.objects import Flavor, Instance
from roost.objects.flavor import root_gb
from roost.operations.kinds import RESIZE


class ServerResize:
    """The action ``resize``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._database = dependencies.api_database

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Charge the quota, and begin the move.

        :raises roost.exception.Invalid: when the flavor does not fit the server, or the server
            cannot leave its host, or no host can take it
        :raises roost.exception.Conflict: when the server's state does not allow the action
        :raises roost.exception.QuotaExceeded: when the project's quota does not suffice
        """
        asked, instance = call.body["resize"], server_ref.instance
        operations.check(server_ref, RESIZE)
        flavor = usable_flavor(self._database, call, str(asked["flavorRef"]))
        _check_flavor(instance, flavor)
        move = ServerMove(
            dependencies=self._dependencies,
            call=call,
            server_ref=server_ref,
            kind=RESIZE,
            migration_uuid=str(uuid.uuid4()),
            begin_until=time.monotonic() + resizes.SECONDS_TO_BEGIN,
            flavor=flavor,
            same_host=self._dependencies.options.resizes_on_same_host,
            changes=_changes(asked, instance),
        )
        move.check()
        self._charge(server_ref, move)
        try:
            chosen = move.choose()
        except exception.RoostError:
            self._settle(instance.uuid, instance.flavor, move.migration_uuid)
            raise
        try:
            move.start(*chosen)
        except exception.Unavailable:
            raise  # the migration may have been written: a super-conductor finds out
        except exception.RoostError:
            self._settle(instance.uuid, instance.flavor, move.migration_uuid)
            raise
        return Answer()

    def _charge(self, server_ref: ServerRef, move: ServerMove) -> None:
        """Take the quota; the resize before may be over, and not settled yet.

        :raises roost.exception.Conflict: when it is not over
        """
        instance_uuid = server_ref.instance.uuid
        charge = functools.partial(
            resizes.charge,
            instance_uuid=instance_uuid,
            flavor=move.flavor,
            migration_uuid=move.migration_uuid,
            defaults=self._dependencies.options.quota,
        )
        try:
            self._database.write(charge)
        except exception.Conflict as error:
            last = str(error.details["resize_uuid"])
            assert server_ref.cell is not None, "operations.check refuses it"
            flavor = server_ref.cell.database.query(migrations.flavors_after, [last]).get(last)
            if flavor is None:
                raise
            self._settle(instance_uuid, flavor, last)
            self._database.write(charge)

    def _settle(self, instance_uuid: str, flavor: Flavor, migration_uuid: str) -> None:
        self._database.write(resizes.settle, instance_uuid, flavor, migration_uuid=migration_uuid)


# What a server has by its flavor. A flavor may be deleted, and made anew with the same id.
_GIVES: Final = (
    "flavorid",
    "vcpus",
    "memory_mb",
    "root_gb",
    "ephemeral_gb",
    "swap",
    "rxtx_factor",
    "extra_specs",
)


def _check_flavor(instance: Instance, flavor: Flavor) -> None:
    """Make sure that the server may have a flavor.

    :raises roost.exception.Invalid: for the same flavor, smaller disks, or what the image needs
    """
    old, image = instance.flavor, instance.image
    if all(getattr(flavor, name) == getattr(old, name) for name in _GIVES):
        raise exception.Invalid("When resizing, instances must change flavor!")
    if not flavor.root_gb and old.root_gb:
        raise exception.Invalid(f"The flavor {flavor.name} has no root disk.")
    sizes = {
        "root disk": (root_gb(old, image), root_gb(flavor, image)),
        "ephemeral disk": (old.ephemeral_gb, flavor.ephemeral_gb),
    }
    for disk, (has, gets) in sizes.items():
        if gets < has:
            raise exception.Invalid(
                f"The {disk} cannot shrink: the server has {has} GiB, and the flavor {flavor.name}"
                f" gives {gets} GiB."
            )
    if image is not None:
        check_other_image(flavor, image, before=image)


def _changes(asked: Mapping[str, Any], instance: Instance) -> dict[str, Any]:
    if "OS-DCF:diskConfig" not in asked or instance.image is None:
        return {}
    return {"disk_config": disk_config_of(asked, instance.image)}


_SCHEMA: Final = of(
    {
        "flavorRef": REFERENCE,
        "OS-DCF:diskConfig": {"type": "string", "enum": ["AUTO", "MANUAL"]},
    },
    required=["flavorRef"],
)
ACTIONS: Final = (
    action(
        "resize",
        ServerResize,
        Rule("os_compute_api:servers:resize", MEMBER, "Resize a server."),
        _SCHEMA,
        checks=(SHOW_PLACEMENT_COUNTS,),
    ),
)
