"""Volume attachments of a server: always empty, for dashboards that request them."""

from typing import Any, Final, NoReturn

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator
from roost.api.policy import MEMBER, READER, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import WHOLE_NUMBER, list_query

_ROOT = "os_compute_api:os-volumes-attachments"

_ALL = "/servers/{server_id}/os-volume_attachments"
_ONE = f"{_ALL}/{{volume_id}}"


class VolumeAttachments:
    """Handlers of ``/servers/{id}/os-volume_attachments``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._locator = ServerLocator(dependencies.api_database, dependencies.cells)

    def list_all(self, call: Call) -> Answer:
        self._find(call)
        return Answer({"volumeAttachments": []})

    def show(self, call: Call) -> NoReturn:
        self._find(call)
        raise exception.NotFound(f"Volume {call.params['volume_id']} is not attached here.")

    def refuse(self, call: Call) -> NoReturn:
        self._find(call)
        raise exception.Unsupported("This cloud has no volumes.")

    def _find(self, call: Call) -> None:
        self._locator.find(call, call.params["server_id"])


def _row(operation: str, handler: Any, policy: Rule, **more: Any) -> Route:
    return row(operation, (VolumeAttachments, handler), policy, **more)


_SLICE: Final = list_query({"limit": WHOLE_NUMBER, "offset": WHOLE_NUMBER})

ROUTES: Final[tuple[Route, ...]] = (
    _row(
        f"GET /v2.1{_ALL}",
        VolumeAttachments.list_all,
        Rule(f"{_ROOT}:index", READER, "List the volumes of a server."),
        query=_SLICE,
    ),
    _row(
        f"GET /v2.1{_ONE}",
        VolumeAttachments.show,
        Rule(f"{_ROOT}:show", READER, "Show a volume of a server."),
    ),
    _row(
        f"POST /v2.1{_ALL}",
        VolumeAttachments.refuse,
        Rule(f"{_ROOT}:create", MEMBER, "Attach a volume to a server."),
    ),
    _row(
        f"PUT /v2.1{_ONE}",
        VolumeAttachments.refuse,
        Rule(f"{_ROOT}:update", MEMBER, "Change a volume attachment."),
        status=202,
    ),
    _row(
        f"DELETE /v2.1{_ONE}",
        VolumeAttachments.refuse,
        Rule(f"{_ROOT}:delete", MEMBER, "Detach a volume from a server."),
        status=202,
    ),
)
