"""Rules of the security groups of the network API."""

from roost.api.policies.base import MEMBER, READER, rule

LIST = "roost:security_groups:list"
SHOW = "roost:security_groups:show"
CREATE = "roost:security_groups:create"
UPDATE = "roost:security_groups:update"
DELETE = "roost:security_groups:delete"
LIST_RULES = "roost:security_group_rules:list"
SHOW_RULE = "roost:security_group_rules:show"
CREATE_RULE = "roost:security_group_rules:create"
DELETE_RULE = "roost:security_group_rules:delete"

_GROUPS = "/network/v2.0/security-groups"
_GROUP = f"{_GROUPS}/{{security_group_id}}"
_RULES = "/network/v2.0/security-group-rules"
_RULE = f"{_RULES}/{{security_group_rule_id}}"

RULES = [
    rule(LIST, READER, "List security groups.", f"GET {_GROUPS}"),
    rule(SHOW, READER, "Show a security group.", f"GET {_GROUP}"),
    rule(CREATE, MEMBER, "Make a security group.", f"POST {_GROUPS}"),
    rule(UPDATE, MEMBER, "Change a security group's name and description.", f"PUT {_GROUP}"),
    rule(DELETE, MEMBER, "Delete a security group that no server is in.", f"DELETE {_GROUP}"),
    rule(LIST_RULES, READER, "List the rules of security groups.", f"GET {_RULES}"),
    rule(SHOW_RULE, READER, "Show a rule of a security group.", f"GET {_RULE}"),
    rule(CREATE_RULE, MEMBER, "Let a security group have a rule.", f"POST {_RULES}"),
    rule(DELETE_RULE, MEMBER, "Take a rule from a security group.", f"DELETE {_RULE}"),
]
