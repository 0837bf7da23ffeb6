"""Security groups in the words of Compute before 2.36."""

from typing import Any, Final

from roost.api.policies import security_group_proxies as policies
from roost.api.route import Route, row
from roost.api.schemas import security_group_proxies as schemas
from roost.api.security_group_proxies import OsSecurityGroupRules, OsSecurityGroups

_LAST: Final = 35  # since 2.36 clients ask the network service
_ALL: Final = "/v2.1/os-security-groups"
_ONE: Final = f"{_ALL}/{{security_group_id}}"
_RULES: Final = "/v2.1/os-security-group-rules"


def _row(operation: str, handler: tuple[type[Any], Any], policy: str, **more: Any) -> Route:
    return row(operation, handler, policy, until=_LAST, **more)


ROUTES: Final[tuple[Route, ...]] = (
    _row(
        f"GET {_ALL}",
        (OsSecurityGroups, OsSecurityGroups.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    _row(
        f"POST {_ALL}",
        (OsSecurityGroups, OsSecurityGroups.create),
        policies.CREATE,
        body=schemas.CREATE,
    ),
    _row(f"GET {_ONE}", (OsSecurityGroups, OsSecurityGroups.show), policies.SHOW),
    _row(
        f"PUT {_ONE}",
        (OsSecurityGroups, OsSecurityGroups.update),
        policies.UPDATE,
        body=schemas.UPDATE,
    ),
    _row(
        f"DELETE {_ONE}",
        (OsSecurityGroups, OsSecurityGroups.delete),
        policies.DELETE,
        status=202,
    ),
    _row(
        f"POST {_RULES}",
        (OsSecurityGroupRules, OsSecurityGroupRules.create),
        policies.CREATE_RULE,
        body=schemas.CREATE_RULE,
    ),
    _row(
        f"DELETE {_RULES}/{{security_group_rule_id}}",
        (OsSecurityGroupRules, OsSecurityGroupRules.delete),
        policies.DELETE_RULE,
        status=202,
    ),
)
