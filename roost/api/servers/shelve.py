"""Shelving: a server gives its host back, and gets one again.

``shelve`` begins an image of the server, which is stopped; the cell's conductors offload it from
its host later, or an administrator does. ``unshelve`` starts it there again; one that was offloaded
gets a host that the scheduler claims before anything is written: so without room, or without its
image, it is refused.
"""

import contextlib
from typing import Any, Final

from roost import exception, states
from roost.api.compute.availability_zones import Zones
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import ADMIN, MEMBER, Rule
from roost.api.request import Answer, Call
from roost.api.servers import images, operations
from roost.api.servers.moves import claim_host, spec_in_cell
from roost.api.servers.policies import SHOW_PLACEMENT_COUNTS
from roost.api.servers.requested_host import check_host
from roost.api.servers.server_action import action
from roost.api.validation import NAME, Document, Schema, of
from roost.db.api import build_requests
from roost.db.cell import instances
from roost.hardware.properties import HardwareProperties
from roost.hardware.rules import tpm
from roost.objects import ImageMeta, OperationParams, Selection
from roost.operations.shelve_kinds import SHELVE, SHELVE_OFFLOAD, UNSHELVE, UNSHELVE_OFFLOADED

_UNSHELVE: Final = "unshelve"
_ZONE: Final = "availability_zone"
_ZONE_SINCE: Final = 77
_HOST_SINCE: Final = 91
_NAMED_HOST: Final = Rule(
    "os_compute_api:os-shelve:unshelve_to_host", ADMIN, "Unshelve a server on a host of choice."
)


class ServerShelving:
    """The actions ``shelve``, ``shelveOffload`` and ``unshelve``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._snapshots = images.ServerSnapshot(dependencies)
        self._zones = Zones(dependencies)

    def shelve(self, call: Call, server_ref: ServerRef) -> Answer:
        """Begin an image of the server, by which it is stopped.

        :raises roost.exception.Invalid: when it has a TPM, which no image has
        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        instance = server_ref.instance
        operations.check(server_ref, SHELVE)
        if tpm(HardwareProperties(instance.flavor, instance.image)) is not None:
            raise exception.Invalid("The server has a TPM, which an image of it would not have.")
        name, properties = f"{instance.display_name}-shelved", {"image_type": "snapshot"}
        self._snapshots.start(call, server_ref, images.ImageRequest(SHELVE, name, properties))
        return Answer()

    def offload(self, call: Call, server_ref: ServerRef) -> Answer:
        """Begin to remove a shelved server from its host, which may be down.

        :raises roost.exception.Conflict: when the server's state does not allow the action
        """
        operation = operations.accept(self._dependencies, call, server_ref, SHELVE_OFFLOAD)
        operations.send(call, server_ref, operation)
        return Answer()

    def unshelve(self, call: Call, server_ref: ServerRef) -> Answer:
        """Begin to start the server again.

        :raises roost.exception.Invalid: when no host can take it, or its image is gone, or there is
            no such zone or host
        :raises roost.exception.Conflict: when the server's state does not allow the action, or a
            zone or host is given for one that still has its host
        """
        asked = (call.body[_UNSHELVE] if call.version >= _ZONE_SINCE else None) or {}
        if asked.get("host") is not None:
            call.require(_NAMED_HOST)
        if server_ref.instance.vm_state == states.SHELVED_OFFLOADED:
            self._place(call, server_ref, asked)
            return Answer()
        operations.check(server_ref, UNSHELVE)
        if asked:
            raise exception.Conflict(
                f"Instance {server_ref.instance.uuid} still has its host: only one that is"
                f" {states.SHELVED_OFFLOADED} can be unshelved in another zone or on another host."
            )
        params = OperationParams.of(image=self._find_image(call, server_ref))
        operation = operations.accept(self._dependencies, call, server_ref, UNSHELVE, params=params)
        operations.send(call, server_ref, operation)
        return Answer()

    def _find_image(self, call: Call, server_ref: ServerRef) -> ImageMeta | None:
        """Return the image of a server, to be deleted; None: it cannot be had."""
        try:
            image_id = str(server_ref.instance.shelved_image_id)
            return self._dependencies.images.get(call.context, image_id)
        except exception.RoostError:
            return None

    def _place(self, call: Call, server_ref: ServerRef, asked: dict[str, Any]) -> None:
        """Claim a host, and send the server there."""
        instance, host = server_ref.instance, asked.get("host")
        operations.check(server_ref, UNSHELVE_OFFLOADED)
        missing = "Image {} of the shelved server is gone: it can only be deleted."
        image = images.usable(
            call, self._dependencies, str(instance.shelved_image_id), missing=missing
        )
        if asked.get(_ZONE) is not None:
            self._zones.check(asked[_ZONE])
        if host is not None:
            check_host(self._dependencies, host, cell=server_ref.cell)
        spec = spec_in_cell(self._dependencies, server_ref, instance.flavor)
        spec.requested_host = host
        if _ZONE in asked:
            spec.availability_zone = asked[_ZONE]
        chosen = claim_host(self._dependencies, call, spec, instance.uuid)
        self._begin(call, server_ref, image, chosen)
        if _ZONE in asked:  # nobody pins it otherwise meanwhile, as it is being unshelved
            self._dependencies.api_database.write(
                build_requests.pin, instance.uuid, spec.request_uuid, asked[_ZONE]
            )

    def _begin(
        self,
        call: Call,
        server_ref: ServerRef,
        image: ImageMeta,
        chosen: Selection,
    ) -> None:
        try:
            operation = operations.accept(
                self._dependencies,
                call,
                server_ref,
                UNSHELVE_OFFLOADED,
                params=OperationParams.of(image=image),
                changes=chosen.place,
            )
        except exception.RoostError:
            self._release(call, server_ref, chosen)
            raise
        operations.send(call, server_ref, operation)

    def _release(self, call: Call, server_ref: ServerRef, chosen: Selection) -> None:
        """Release the claim, unless another request has sent the server to the same host.

        If no scheduler answers, it expires.
        """
        uuid, cell = server_ref.instance.uuid, server_ref.cell
        assert cell is not None, "operations.check refuses it"
        with contextlib.suppress(exception.Unavailable, exception.NotFound):
            if cell.database.query(instances.get, uuid).host != chosen.host:
                self._dependencies.scheduler.release_claims(
                    call.context, instance_uuids=[uuid], host=chosen.host
                )


def _or_nothing(document: Document) -> Document:
    """Return the schema of the same, or null."""
    return {**document, "type": ["object", "null"]}


_HOST: Final = {"type": "string", "minLength": 1, "maxLength": 255}
_ZONE_OR_NONE: Final = {**NAME, "type": ["string", "null"]}
ACTIONS: Final = (
    action(
        "shelve",
        lambda dependencies: ServerShelving(dependencies).shelve,
        Rule("os_compute_api:os-shelve:shelve", MEMBER, "Shelve a server."),
    ),
    action(
        "shelveOffload",
        lambda dependencies: ServerShelving(dependencies).offload,
        Rule(
            "os_compute_api:os-shelve:shelve_offload",
            ADMIN,
            "Remove a shelved server from its host.",
        ),
    ),
    action(
        _UNSHELVE,
        lambda dependencies: ServerShelving(dependencies).unshelve,
        Rule("os_compute_api:os-shelve:unshelve", MEMBER, "Unshelve a server."),
        Schema(
            {
                1: {},
                _ZONE_SINCE: _or_nothing(of({_ZONE: NAME}, required=[_ZONE])),
                _HOST_SINCE: _or_nothing(
                    {**of({_ZONE: _ZONE_OR_NONE, "host": _HOST}), "minProperties": 1}
                ),
            }
        ),
        checks=(_NAMED_HOST, SHOW_PLACEMENT_COUNTS),
    ),
)
