"""Hosts in the words of Compute before 2.43."""

from typing import Any, Final

from roost.api.hosts import Hosts
from roost.api.policies import hosts as policies
from roost.api.route import Route, row
from roost.api.schemas import hosts as schemas

_LAST: Final = 42  # since 2.43 clients ask for services and hypervisors
_ALL: Final = "/v2.1/os-hosts"
_ONE: Final = f"{_ALL}/{{host_name}}"


def _row(operation: str, handler: Any, policy: str, **more: Any) -> Route:
    return row(operation, (Hosts, handler), policy, until=_LAST, **more)


ROUTES: Final[tuple[Route, ...]] = (
    _row(f"GET {_ALL}", Hosts.list_all, policies.LIST, query=schemas.LIST_QUERY),
    _row(f"GET {_ONE}", Hosts.show, policies.SHOW),
    _row(f"PUT {_ONE}", Hosts.refuse, policies.UPDATE, body=schemas.UPDATE),
    _row(f"GET {_ONE}/startup", Hosts.refuse, policies.START),
    _row(f"GET {_ONE}/shutdown", Hosts.refuse, policies.SHUTDOWN),
    _row(f"GET {_ONE}/reboot", Hosts.refuse, policies.REBOOT),
)
