"""The policy check, by oslo.policy, and the roles that all rules are made of.

Each role has what those before it have: reader, member and manager of a project, and
administrator. Other services come as ``service``. Names and meanings are those that OpenStack's
operators know, so that their policy files keep their effect; ``[oslo_policy] enforce_new_defaults
= false`` lets those who work in a project do there what members may, whatever their role.

Each time it is asked, oslo.policy looks for the operator's file and takes as long as a query of a
database; one request needs several answers. So they are remembered for a second, by all that
decides them: the rule, the whole of the caller's credentials and the target.
"""

import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

from oslo_config import cfg
from oslo_policy import policy

from roost import exception
from roost.context import RequestContext

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


LOOK_SECONDS: Final = 1.0  # so soon a change of the operator's file counts
_MOST: Final = 10_000  # decisions


class Policy:
    """Judges callers by rules and the operator's policy file.

    :param rules: the defaults of all rules that may be asked
    :param conf: any ConfigOpts; ``[oslo_policy]`` in it names the file, if there is one
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        rules: Sequence[policy.RuleDefault],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.rules = rules
        self._clock = clock
        self._decided: dict[Hashable, bool] = {}
        self._until = clock()
        self._remembers = True
        self._enforcer = policy.Enforcer(conf)
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.register_defaults(rules)

    def load(self) -> None:
        """Read the operator's file now rather than at the first request."""
        self._enforcer.load_rules()

    def allows(
        self,
        context: RequestContext,
        rule: str,
        *,
        project_id: str | None = None,
        user_id: str | None = None,
    ) -> bool:
        """Tell whether the caller passes ``rule`` for a thing of a project and a user (own).

        Who has no project owns nothing: what has none either, or one called "None", is not theirs.
        """
        target: dict[str, Any] = {"user_id": context.user_id if user_id is None else user_id}
        if context.project_id is not None:
            target["project_id"] = context.project_id if project_id is None else project_id
        decided = self._decisions()
        key = (rule, *target.items(), _credentials(context))
        known = decided.get(key)
        if known is None:
            known = bool(self._enforcer.authorize(rule, target, context, do_raise=False))
            if self._remembers:
                decided[key] = known
        return known

    def is_admin(self, context: RequestContext) -> bool:
        """Tell whether the caller is an administrator, by the rule ``context_is_admin``."""
        return self.allows(context, CONTEXT_IS_ADMIN)

    def require(self, context: RequestContext, rule: str, *, user_id: str | None = None) -> None:
        """Raise :class:`roost.exception.Forbidden` unless the caller passes ``rule``.

        :param user_id: whose thing it is (the caller's own)
        """
        if not self.allows(context, rule, user_id=user_id):
            raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")

    def _decisions(self) -> dict[Hashable, bool]:
        """Return what was decided a moment ago; nothing, if rules ask somebody outside."""
        if self._clock() >= self._until or len(self._decided) > _MOST:
            self._enforcer.load_rules()
            self._remembers = not any("http" in str(rule) for rule in self._enforcer.rules.values())
            self._decided, self._until = {}, self._clock() + LOOK_SECONDS
        return self._decided


def _credentials(context: RequestContext) -> Hashable:
    """Return all of a caller that a rule may look at."""
    values = context.to_policy_values()
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value) for name, value in values.items()
    )
