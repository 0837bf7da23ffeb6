"""Rules of security groups in the words of Compute before 2.36."""

from roost.api.policies.base import MEMBER, READER, rule

LIST = "os_compute_api:os-security-groups:get"
SHOW = "os_compute_api:os-security-groups:show"
CREATE = "os_compute_api:os-security-groups:create"
UPDATE = "os_compute_api:os-security-groups:update"
DELETE = "os_compute_api:os-security-groups:delete"
CREATE_RULE = "os_compute_api:os-security-groups:rule:create"
DELETE_RULE = "os_compute_api:os-security-groups:rule:delete"

_ALL = "/os-security-groups"
_ONE = f"{_ALL}/{{security_group_id}}"
_RULES = "/os-security-group-rules"
_FORMERLY = "os_compute_api:os-security-groups"

RULES = [
    rule(LIST, READER, "List security groups.", f"GET {_ALL}", formerly=_FORMERLY),
    rule(SHOW, READER, "Show a security group.", f"GET {_ONE}", formerly=_FORMERLY),
    rule(CREATE, MEMBER, "Make a security group.", f"POST {_ALL}", formerly=_FORMERLY),
    rule(
        UPDATE,
        MEMBER,
        "Change a security group's name and description.",
        f"PUT {_ONE}",
        formerly=_FORMERLY,
    ),
    rule(DELETE, MEMBER, "Delete a security group.", f"DELETE {_ONE}", formerly=_FORMERLY),
    rule(CREATE_RULE, MEMBER, "Let something in.", f"POST {_RULES}", formerly=_FORMERLY),
    rule(
        DELETE_RULE,
        MEMBER,
        "Let it in no more.",
        f"DELETE {_RULES}/{{security_group_rule_id}}",
        formerly=_FORMERLY,
    ),
]
