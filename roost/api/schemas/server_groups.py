"""Schemas of server groups."""

from typing import Any, Final

from roost.api.schemas.base import NAME, TEXT, WHOLE_NUMBER, list_query, number, of, wrapped
from roost.api.validation import Schema

SOFT: Final = 15  # since 2.15 a policy may be soft
RULES: Final = 64  # since 2.64 a group has one policy, which may have rules

_HARD_POLICIES = ["anti-affinity", "affinity"]
_POLICIES = [*_HARD_POLICIES, "soft-anti-affinity", "soft-affinity"]


def _one_of_a_list(policies: list[str]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "maxItems": 1, "items": {"enum": policies}}


def _create(**values: Any) -> Any:
    """Return the schema of a create: the first of the values must be there, as must a name."""
    return wrapped("server_group", of({"name": NAME, **values}, required=["name", *values][:2]))


CREATE: Final = Schema(
    {
        1: _create(policies=_one_of_a_list(_HARD_POLICIES)),
        SOFT: _create(policies=_one_of_a_list(_POLICIES)),
        RULES: _create(policy={"enum": _POLICIES}, rules=of({"max_server_per_host": number(1)})),
    }
)
_LIST: dict[str, Any] = {"all_projects": TEXT, "limit": WHOLE_NUMBER, "offset": WHOLE_NUMBER}
LIST_QUERY: Final = list_query(_LIST)
