"""The roles that the other rules are made of."""

from oslo_policy import policy

ANYBODY = "@"
ADMIN = "rule:admin_api"
MEMBER = "rule:project_member_or_admin"
READER = "rule:project_reader_or_admin"

RULES = [
    policy.RuleDefault("admin_api", "role:admin", "Administrators."),
    policy.RuleDefault(
        "project_member_or_admin",
        "rule:admin_api or (role:member and project_id:%(project_id)s)",
        "Those who work in the project that a thing belongs to, and administrators.",
    ),
    policy.RuleDefault(
        "project_reader_or_admin",
        "rule:admin_api or (role:reader and project_id:%(project_id)s)",
        "Those who may look at the project that a thing belongs to, and administrators.",
    ),
]


def rule(name: str, check: str, description: str, *operations: str) -> policy.DocumentedRuleDefault:
    """Make a rule for ``operations``: ``METHOD /path`` each."""
    return policy.DocumentedRuleDefault(
        name=name,
        check_str=check,
        description=description,
        operations=[
            {"method": method, "path": path}
            for method, path in (operation.split(" ", 1) for operation in operations)
        ],
    )
