"""Resources and actions that Nova has removed: 410 in every microversion, before any policy.

These are not routes: nothing is served, so the OpenAPI document has none of them.
"""

from collections.abc import Mapping
from typing import Any, Final, NoReturn

import falcon

_MESSAGE: Final = "This resource is no longer available. No forwarding address is given."
_DNS: Final = "/v2.1/os-floating-ip-dns"
_OF_SERVER: Final = "/v2.1/servers/{server_id}"

# Path -> methods. Where a path also has a route, the route's methods are not here.
GONE: Final[Mapping[str, tuple[str, ...]]] = {
    "/v2.1/os-agents": ("GET", "POST"),
    "/v2.1/os-agents/{agent_id}": ("PUT", "DELETE"),
    "/v2.1/os-cells": ("GET", "POST"),
    "/v2.1/os-cells/detail": ("GET",),
    "/v2.1/os-cells/info": ("GET",),
    "/v2.1/os-cells/capacities": ("GET",),
    "/v2.1/os-cells/sync_instances": ("POST",),
    "/v2.1/os-cells/{cell_id}": ("GET", "PUT", "DELETE"),
    "/v2.1/os-cells/{cell_id}/capacities": ("GET",),
    "/v2.1/os-certificates": ("POST",),
    "/v2.1/os-certificates/{certificate_id}": ("GET",),
    "/v2.1/os-cloudpipe": ("GET", "POST"),
    "/v2.1/os-cloudpipe/{pipe_id}": ("PUT",),
    "/v2.1/os-fixed-ips/{fixed_ip}": ("GET",),
    "/v2.1/os-fixed-ips/{fixed_ip}/action": ("POST",),
    _DNS: ("GET",),
    f"{_DNS}/{{domain}}": ("PUT", "DELETE"),
    f"{_DNS}/{{domain}}/entries/{{name}}": ("GET", "PUT", "DELETE"),
    "/v2.1/os-floating-ips-bulk": ("GET", "POST"),
    "/v2.1/os-floating-ips-bulk/{host_name}": ("GET", "PUT"),
    "/v2.1/os-fping": ("GET",),
    "/v2.1/os-fping/{instance_id}": ("GET",),
    "/v2.1/os-networks": ("POST",),
    "/v2.1/os-networks/add": ("POST",),
    "/v2.1/os-networks/{network_id}": ("DELETE",),
    "/v2.1/os-networks/{network_id}/action": ("POST",),
    "/v2.1/os-security-group-default-rules": ("GET", "POST"),
    "/v2.1/os-security-group-default-rules/{rule_id}": ("GET", "DELETE"),
    "/v2.1/os-tenant-networks": ("POST",),
    "/v2.1/os-tenant-networks/{network_id}": ("DELETE",),
    f"{_OF_SERVER}/consoles": ("GET", "POST"),
    f"{_OF_SERVER}/consoles/{{console_id}}": ("GET", "DELETE"),
    f"{_OF_SERVER}/os-virtual-interfaces": ("GET",),
}
_ACTIONS: Final = {"resetNetwork"}


def beside(resources: Mapping[str, object]) -> dict[str, object]:
    """Return Falcon's resources by path, those of the API and those that answer 410.

    :param resources: of the API, by path; some of them get the removed methods of their path
    """
    found = dict(resources)
    for path, methods in GONE.items():
        resource = found.setdefault(path, _Nothing())
        for method in methods:
            setattr(resource, f"on_{method.lower()}", _refuse)
    return found


def refuse_action(name: str) -> None:
    """Raise 410 for an action on a server that Nova has removed."""
    if name in _ACTIONS:
        raise falcon.HTTPGone(description=_MESSAGE)


class _Nothing:
    """A path with all methods removed."""


def _refuse(_req: falcon.Request, _resp: falcon.Response, **_params: Any) -> NoReturn:
    raise falcon.HTTPGone(description=_MESSAGE)
