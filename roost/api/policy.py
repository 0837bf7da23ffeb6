"""Who may do what: oslo.policy, asked in one place.

Its every answer looks for the operator's file again and takes as long as a query of a database;
one request needs several. So what it has decided is remembered for a second: by all that it decides
by, the rule, the whole of the caller's credentials and the target.
"""

import time
from collections.abc import Callable, Hashable
from typing import Any, Final

from oslo_config import cfg
from oslo_policy import policy as oslo_policy

from roost import exception
from roost.api.policies import base
from roost.context import RequestContext

LOOK_SECONDS: Final = 1.0  # so soon a change of the operator's file counts
_MOST: Final = 10_000  # decisions


class Policy:
    """Judges callers by the rules of ``policies/`` and the operator's policy file.

    :param conf: any ConfigOpts; ``[oslo_policy]`` in it names the file, if there is one
    """

    def __init__(self, conf: cfg.ConfigOpts, clock: Callable[[], float] = time.monotonic) -> None:
        from roost.api import policies  # which imports all that asks this class

        self._clock = clock
        self._decided: dict[Hashable, bool] = {}
        self._until = clock()
        self._remembers = True
        self._enforcer = oslo_policy.Enforcer(conf)
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.register_defaults(policies.list_rules())

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
        return self.allows(context, base.CONTEXT_IS_ADMIN)

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
