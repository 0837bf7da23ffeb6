"""Who may do what: oslo.policy, asked in one place."""

from typing import Any

from oslo_config import cfg
from oslo_policy import policy as oslo_policy

from roost import exception
from roost.api import policies
from roost.context import RequestContext


class Policy:
    """Judges callers by the rules of ``policies/`` and the operator's policy file.

    :param conf: any ConfigOpts; ``[oslo_policy]`` in it names the file, if there is one
    """

    def __init__(self, conf: cfg.ConfigOpts) -> None:
        self._enforcer = oslo_policy.Enforcer(conf)
        self._enforcer.suppress_deprecation_warnings = True
        self._enforcer.register_defaults(policies.list_rules())

    def load(self) -> None:
        """Read the operator's file now rather than at the first request."""
        self._enforcer.load_rules()

    def allows(self, context: RequestContext, rule: str, *, project_id: str | None = None) -> bool:
        """Tell whether the caller passes ``rule`` for a thing of a project (own)."""
        target: dict[str, Any] = {
            "project_id": context.project_id if project_id is None else project_id,
            "user_id": context.user_id,
        }
        return bool(self._enforcer.authorize(rule, target, context, do_raise=False))

    def require(self, context: RequestContext, rule: str) -> None:
        """Raise :class:`roost.exception.Forbidden` unless the caller passes ``rule``."""
        if not self.allows(context, rule):
            raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")
