"""Volume attachments of a server: always empty, for dashboards that request them."""

from typing import Any, Final, NoReturn

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerLocator
from roost.api.policy import MEMBER, READER, rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row
from roost.api.validation import WHOLE_NUMBER, list_query

_ROOT = "os_compute_api:os-volumes-attachments"
LIST_POLICY = f"{_ROOT}:index"
SHOW_POLICY = f"{_ROOT}:show"
CREATE_POLICY = f"{_ROOT}:create"
UPDATE_POLICY = f"{_ROOT}:update"
DELETE_POLICY = f"{_ROOT}:delete"

_ALL = "/servers/{server_id}/os-volume_attachments"
_ONE = f"{_ALL}/{{volume_id}}"

RULES = [
    rule(LIST_POLICY, READER, "List the volumes of a server.", f"GET {_ALL}"),
    rule(SHOW_POLICY, READER, "Show a volume of a server.", f"GET {_ONE}"),
    rule(CREATE_POLICY, MEMBER, "Attach a volume to a server.", f"POST {_ALL}"),
    rule(UPDATE_POLICY, MEMBER, "Change a volume attachment.", f"PUT {_ONE}"),
    rule(DELETE_POLICY, MEMBER, "Detach a volume from a server.", f"DELETE {_ONE}"),
]


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


def _row(operation: str, handler: Any, policy: str, **more: Any) -> Route:
    return row(operation, (VolumeAttachments, handler), policy, **more)


_SLICE: Final = list_query({"limit": WHOLE_NUMBER, "offset": WHOLE_NUMBER})

ROUTES: Final[tuple[Route, ...]] = (
    _row(f"GET /v2.1{_ALL}", VolumeAttachments.list_all, LIST_POLICY, query=_SLICE),
    _row(f"GET /v2.1{_ONE}", VolumeAttachments.show, SHOW_POLICY),
    _row(f"POST /v2.1{_ALL}", VolumeAttachments.refuse, CREATE_POLICY),
    _row(f"PUT /v2.1{_ONE}", VolumeAttachments.refuse, UPDATE_POLICY, status=202),
    _row(f"DELETE /v2.1{_ONE}", VolumeAttachments.refuse, DELETE_POLICY, status=202),
)
