"""The policy check, by oslo.policy, and the roles that all rules consist of.

Each role includes the ones before it: reader, member and manager of a project, and administrator.
Other services have the role ``service``. Names and meanings are those of OpenStack, so that
operators' policy files keep their effect; with ``[oslo_policy] enforce_new_defaults = false``
every role in a project has the rights of members.

Each check of oslo.policy looks for the operator's file and takes as long as a database query; one
request needs several checks. So their results are cached for a second, by all that they depend on:
the rule, the caller's credentials and the target.
"""

import time
from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Final, Self

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
# Only tokens scoped to a project: system and domain tokens are for other services.
SCOPES: Final = ("project",)

_ADMIN_OR_OWNER: Final = f"{ADMIN} or project_id:%(project_id)s"


def _role(name: str, check: str, description: str) -> policy.RuleDefault:
    return policy.RuleDefault(name, check, description)


def _in_place_of_owner(name: str, check: str, description: str) -> policy.RuleDefault:
    """Make a rule of a role where any role in the project used to be enough."""
    former = policy.DeprecatedRule(
        name,
        _ADMIN_OR_OWNER,
        deprecated_reason="Roles are finer than membership of a project.",
        deprecated_since="0.1.0",
    )
    return policy.RuleDefault(name, check, description, deprecated_rule=former)


def _in_project(role: str) -> str:
    return f"role:{role} and project_id:%(project_id)s"


ROLES = [
    _role(CONTEXT_IS_ADMIN, "role:admin", "Administrators; the check is_admin:True uses it, too."),
    _role("admin_api", ADMIN, "The same; for policy files that name it."),
    _role("admin_or_owner", _ADMIN_OR_OWNER, "Not used; for policy files that name it."),
    _role("project_manager_api", _in_project("manager"), "Managers of the owning project."),
    _role("project_member_api", _in_project("member"), "Members of the owning project."),
    _role("project_reader_api", _in_project("reader"), "Readers of the owning project."),
    _role("service_api", "role:service", "Other services of the cloud."),
    _role(
        "project_manager_or_admin",
        f"rule:project_manager_api or {ADMIN}",
        "Managers of the owning project, and administrators.",
    ),
    _in_place_of_owner(
        "project_member_or_admin",
        f"rule:project_member_api or {ADMIN}",
        "Members of the owning project, and administrators.",
    ),
    _in_place_of_owner(
        "project_reader_or_admin",
        f"rule:project_reader_api or {ADMIN}",
        "Readers of the owning project, and administrators.",
    ),
    _role(
        "service_or_admin",
        f"rule:service_api or {ADMIN}",
        "Other services of the cloud, and administrators.",
    ),
]


class Rule(str):
    """The name of a rule, with its default check and a sentence for operators.

    :param formerly: a rule that used to cover this and more; in policy files it still does
    :param also: operations that it is checked in besides those of the rows that name it
    """

    __slots__ = ("also", "check", "description", "formerly")

    check: str
    description: str
    formerly: str | None
    also: tuple[str, ...]

    def __new__(
        cls,
        name: str,
        check: str,
        description: str,
        *,
        formerly: str | None = None,
        also: tuple[str, ...] = (),
    ) -> Self:
        made = super().__new__(cls, name)
        made.check, made.description = check, description
        made.formerly, made.also = formerly, also
        return made

    def default(self, operations: Iterable[str]) -> policy.DocumentedRuleDefault:
        """Return the rule for oslo.policy, documented with ``operations``: ``METHOD /path``."""
        split = (operation.split(" ", 1) for operation in operations)
        return policy.DocumentedRuleDefault(
            name=str(self),
            check_str=self.check,
            description=self.description,
            operations=[{"method": method, "path": path} for method, path in split],
            scope_types=list(SCOPES),
            deprecated_rule=_former(self.formerly, self.check),
        )


def any_of(rules: Iterable[Rule]) -> str:
    """Return the check that callers pass who pass one of ``rules``."""
    return " or ".join(f"rule:{rule}" for rule in dict.fromkeys(rules))


def _former(name: str | None, check: str) -> policy.DeprecatedRule | None:
    if name is None:
        return None
    return policy.DeprecatedRule(
        name,
        check,
        deprecated_reason="Each operation has a rule of its own.",
        deprecated_since="0.1.0",
    )


LOOK_SECONDS: Final = 1.0  # until a change of the operator's file takes effect
_MOST: Final = 10_000  # cached decisions


class Policy:
    """Checks callers by rules and the operator's policy file.

    :param rules: the defaults of all rules that may be checked
    :param conf: any ConfigOpts; ``[oslo_policy]`` in it names the file, if there is one
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        rules: Sequence[policy.RuleDefault],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
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
        """Return whether the caller passes ``rule`` for a resource, by default their own.

        A caller without a project owns nothing, not even resources without a project or of a
        project called "None".
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
        """Return whether the caller is an administrator, by the rule ``context_is_admin``."""
        return self.allows(context, CONTEXT_IS_ADMIN)

    def require(self, context: RequestContext, rule: str, *, user_id: str | None = None) -> None:
        """Raise :class:`roost.exception.Forbidden` unless the caller passes ``rule``.

        :param user_id: the owner of the resource (default: the caller)
        """
        if not self.allows(context, rule, user_id=user_id):
            raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")

    def _decisions(self) -> dict[Hashable, bool]:
        """Return the cached decisions; an empty cache if rules call external services."""
        if self._clock() >= self._until or len(self._decided) > _MOST:
            self._enforcer.load_rules()
            self._remembers = not any("http" in str(rule) for rule in self._enforcer.rules.values())
            self._decided, self._until = {}, self._clock() + LOOK_SECONDS
        return self._decided


def _credentials(context: RequestContext) -> Hashable:
    """Return all attributes of a caller that a rule may check."""
    values = context.to_policy_values()
    return tuple(
        (name, tuple(value) if isinstance(value, list) else value) for name, value in values.items()
    )
