"""The default policy of every route, under the names that OpenStack's operators know.

``list_rules`` is also what the policy sample is generated from.
"""

from oslo_policy import policy

from roost.api.policies import (
    availability_zones,
    base,
    flavors,
    images,
    instance_actions,
    limits,
    networks,
    servers,
    services,
    versions,
)

_NOUNS = (
    base,
    versions,
    flavors,
    servers,
    instance_actions,
    services,
    availability_zones,
    limits,
    images,
    networks,
)


def list_rules() -> list[policy.RuleDefault]:
    """Return all rules: the roles first, then noun by noun."""
    return [rule for noun in _NOUNS for rule in noun.RULES]
