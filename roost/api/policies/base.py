"""The roles that the other rules are made of, as Keystone has them.

Each role has what those before it have: reader, member and manager of a project, and administrator.
Other services come as ``service``. Names and meanings are those that OpenStack's operators know, so
that their policy files keep their effect; ``[oslo_policy] enforce_new_defaults = false`` lets who
works in a project do there what members may, whatever their role.
"""

from typing import Final

from oslo_policy import policy

ANYBODY = "@"
CONTEXT_IS_ADMIN = "context_is_admin"
ADMIN = f"rule:{CONTEXT_IS_ADMIN}"
MANAGER = "rule:project_manager_or_admin"
MEMBER = "rule:project_member_or_admin"
READER = "rule:project_reader_or_admin"
SERVICE = "rule:service_or_admin"
# Whose tokens are for a project: ones for the whole system or a domain are for other services.
SCOPES: Final = ("project",)

_ADMIN_OR_OWNER: Final = f"{ADMIN} or project_id:%(project_id)s"


def _role(name: str, check: str, description: str) -> policy.RuleDefault:
    return policy.RuleDefault(name, check, description)


def _in_place_of_owner(name: str, check: str, description: str) -> policy.RuleDefault:
    """Make a rule of a role where working in the project used to be enough."""
    former = policy.DeprecatedRule(
        name,
        _ADMIN_OR_OWNER,
        deprecated_reason="Roles tell more than working in a project does.",
        deprecated_since="0.1.0",
    )
    return policy.RuleDefault(name, check, description, deprecated_rule=former)


def _in_project(role: str) -> str:
    return f"role:{role} and project_id:%(project_id)s"


RULES = [
    _role(CONTEXT_IS_ADMIN, "role:admin", "Administrators; the check is_admin:True asks it, too."),
    _role("admin_api", ADMIN, "The same; for policy files that name it."),
    _role("admin_or_owner", _ADMIN_OR_OWNER, "Not used; for policy files that name it."),
    _role("project_manager_api", _in_project("manager"), "Who runs the project of a thing."),
    _role("project_member_api", _in_project("member"), "Who works in the project of a thing."),
    _role("project_reader_api", _in_project("reader"), "Who may look at the project of a thing."),
    _role("service_api", "role:service", "Other services of the cloud."),
    _role(
        "project_manager_or_admin",
        f"rule:project_manager_api or {ADMIN}",
        "Who runs the project of a thing, and administrators.",
    ),
    _in_place_of_owner(
        "project_member_or_admin",
        f"rule:project_member_api or {ADMIN}",
        "Who works in the project of a thing, and administrators.",
    ),
    _in_place_of_owner(
        "project_reader_or_admin",
        f"rule:project_reader_api or {ADMIN}",
        "Who may look at the project of a thing, and administrators.",
    ),
    _role(
        "service_or_admin",
        f"rule:service_api or {ADMIN}",
        "Other services of the cloud, and administrators.",
    ),
]


def rule(
    name: str, check: str, description: str, *operations: str, formerly: str | None = None
) -> policy.DocumentedRuleDefault:
    """Make a rule for ``operations``: ``METHOD /path`` each.

    :param formerly: a rule that used to be for this and more; in policy files it still is
    """
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[
            {"method": method, "path": path}
            for method, path in (operation.split(" ", 1) for operation in operations)
        ],
        scope_types=list(SCOPES),
        deprecated_rule=_former(formerly, check),
    )


def _former(name: str | None, check: str) -> policy.DeprecatedRule | None:
    if name is None:
        return None
    return policy.DeprecatedRule(
        name,
        check,
        deprecated_reason="Each operation has a rule of its own.",
        deprecated_since="0.1.0",
    )
