"""The security groups of the network API."""

from typing import Final

from roost.api.policies import security_groups as policies
from roost.api.route import Route, row
from roost.api.schemas import security_groups as schemas
from roost.api.security_groups import SecurityGroupRules, SecurityGroups

_GROUPS: Final = "/network/v2.0/security-groups"
_GROUP: Final = f"{_GROUPS}/{{security_group_id}}"
_RULES: Final = "/network/v2.0/security-group-rules"
_RULE: Final = f"{_RULES}/{{security_group_rule_id}}"

ROUTES: Final[tuple[Route, ...]] = (
    row(
        f"GET {_GROUPS}",
        (SecurityGroups, SecurityGroups.list_all),
        policies.LIST,
        query=schemas.LIST_QUERY,
    ),
    row(
        f"POST {_GROUPS}",
        (SecurityGroups, SecurityGroups.create),
        policies.CREATE,
        body=schemas.CREATE,
        status=201,
    ),
    row(f"GET {_GROUP}", (SecurityGroups, SecurityGroups.show), policies.SHOW),
    row(
        f"PUT {_GROUP}",
        (SecurityGroups, SecurityGroups.update),
        policies.UPDATE,
        body=schemas.UPDATE,
    ),
    row(
        f"DELETE {_GROUP}",
        (SecurityGroups, SecurityGroups.delete),
        policies.DELETE,
        status=204,
    ),
    row(
        f"GET {_RULES}",
        (SecurityGroupRules, SecurityGroupRules.list_all),
        policies.LIST_RULES,
        query=schemas.RULES_QUERY,
    ),
    row(
        f"POST {_RULES}",
        (SecurityGroupRules, SecurityGroupRules.create),
        policies.CREATE_RULE,
        body=schemas.CREATE_RULE,
        status=201,
    ),
    row(f"GET {_RULE}", (SecurityGroupRules, SecurityGroupRules.show), policies.SHOW_RULE),
    row(
        f"DELETE {_RULE}",
        (SecurityGroupRules, SecurityGroupRules.delete),
        policies.DELETE_RULE,
        status=204,
    ),
)
