"""Filters of providers: the resources, traits and aggregates that a query requires."""

import dataclasses
import re
import uuid
from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final

from roost import exception
from roost.api.request import Query
from roost.api.validation import is_uuid
from roost.objects import ResourceProvider
from roost.objects.inventory import is_class, is_trait

FORBIDDEN_TRAITS: Final = 22
SEVERAL_MEMBER_OF: Final = 24
FORBIDDEN_AGGREGATES: Final = 32
ANY_TRAIT: Final = 39
_NAME: Final = re.compile(r"[A-Z0-9_]{1,255}", re.ASCII)
_AMOUNT: Final = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_IN: Final = "in:"
_CUSTOM: Final = "CUSTOM_"


@dataclasses.dataclass(frozen=True, kw_only=True)
class ProviderRequirements:
    """What a provider must have: amounts by class, one trait and one aggregate of each set.

    Aggregates are uuids.
    """

    resources: Mapping[str, int] = dataclasses.field(default_factory=dict)
    traits: Collection[frozenset[str]]
    forbidden_traits: frozenset[str]
    aggregates: Collection[frozenset[str]] = ()
    forbidden_aggregates: frozenset[str] = frozenset()

    @property
    def custom_classes(self) -> set[str]:
        return {name for name in self.resources if name.startswith(_CUSTOM)}

    @property
    def custom_traits(self) -> set[str]:
        """All custom traits that are named, required or forbidden."""
        named = self.forbidden_traits.union(*self.traits)
        return {name for name in named if name.startswith(_CUSTOM)}

    @property
    def named_aggregates(self) -> frozenset[str]:
        """All aggregates that are named, required or forbidden."""
        return self.forbidden_aggregates.union(*self.aggregates)

    def fit(self, provider: ResourceProvider, member_of: Collection[str]) -> bool:
        """Return whether a provider has it all, and the resources unused.

        :param member_of: the aggregates of the provider, at least those that are named
        """
        return (
            self.allow(member_of)
            and self.suit(provider.traits)
            and all(has(provider, name, amount) for name, amount in self.resources.items())
        )

    def allow(self, member_of: Collection[str]) -> bool:
        return self.forbidden_aggregates.isdisjoint(member_of) and all(
            not some.isdisjoint(member_of) for some in self.aggregates
        )

    def suit(self, traits: Collection[str]) -> bool:
        return self.forbidden_traits.isdisjoint(traits) and all(
            not some.isdisjoint(traits) for some in self.traits
        )


def has(provider: ResourceProvider, name: str, amount: int) -> bool:
    """Return whether a provider has so much of a class unused, and may give it at once."""
    return any(
        one.resource_class == name
        and one.min_unit <= amount <= one.max_unit
        and amount % one.step_size == 0
        and one.used + amount <= one.capacity
        for one in provider.inventories
    )


def read(query: Query, *, version: int, suffix: str = "") -> ProviderRequirements:
    """Return the requirements of a query's ``resources``, ``required`` and ``member_of``.

    :param suffix: of the names of these: that of a group
    :raises roost.exception.Invalid: when they are malformed, or need a later version
    """
    values = _required(query, version, suffix)
    members = list(_aggregates(_member_of(query, version, suffix), version))
    return _requiring(
        values,
        version,
        resources=_resources(query.one(f"resources{suffix}")),
        aggregates=[uuids for wanted, uuids in members if wanted],
        forbidden_aggregates=_joined(uuids for wanted, uuids in members if not wanted),
    )


def read_root(query: Query, *, version: int) -> ProviderRequirements:
    """Return what ``root_required`` says, which is no more than traits.

    :raises roost.exception.Invalid: when it is malformed, said twice, or contradicts itself
    """
    values = query.in_turn("root_required")
    if len(values) > 1:
        raise exception.Invalid("Query parameter 'root_required' may be specified only once.")
    found = _requiring(values, version)
    both = sorted(found.forbidden_traits & _joined(found.traits))
    if both:
        raise exception.Invalid(
            f"Conflicting required and forbidden traits found in root_required: {', '.join(both)}"
        )
    return found


def tree(query: Query, suffix: str) -> str:
    """Return the uuid in ``in_tree``; "": there is none."""
    named = query.one(f"in_tree{suffix}")
    return str(uuid.UUID(named)) if named is not None else ""


def _requiring(values: Iterable[str], version: int, **others: Any) -> ProviderRequirements:
    required = list(_traits(values, version))
    return ProviderRequirements(
        traits=[names for wanted, names in required if wanted],
        forbidden_traits=_joined(names for wanted, names in required if not wanted),
        **others,
    )


def _required(query: Query, version: int, suffix: str) -> list[str]:
    """Return the values of ``required``; before 1.39 the last one counts alone."""
    values = query.in_turn(f"required{suffix}")
    return values if version >= ANY_TRAIT else values[-1:]


def _member_of(query: Query, version: int, suffix: str) -> list[str]:
    values = query.in_turn(f"member_of{suffix}")
    if len(values) > 1 and version < SEVERAL_MEMBER_OF:
        raise exception.Invalid("Multiple member_of parameters are not supported before 1.24.")
    return values


def _joined(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset[str]().union(*sets)


def _resources(text: str | None) -> dict[str, int]:
    if text is None:
        return {}
    found: dict[str, int] = {}
    for part in text.split(","):
        name, colon, amount = part.partition(":")
        if not name or not colon or name in found:
            raise exception.Invalid(
                "Badly formed resources parameter. Expected resources query string parameter in"
                f" form: ?resources=VCPU:2,MEMORY_MB:1024. Got: {part if text else 'empty string'}."
            )
        if not is_class(name):
            raise exception.Invalid(f"Invalid resource class in resources parameter: {name}.")
        found[name] = _amount(name, amount.strip())
    return found


def _amount(name: str, text: str) -> int:
    if not _AMOUNT.fullmatch(text):
        raise exception.Invalid(
            f"Requested resource {name} expected positive integer amount. Got: {text}."
        )
    if int(text) < 1:
        raise exception.Invalid(f"Requested resource {name} requires amount >= 1. Got: {text}.")
    return int(text)


def _traits(values: Iterable[str], version: int) -> Iterable[tuple[bool, frozenset[str]]]:
    """Yield sets of which one is required (True), or of which none may be there (False)."""
    for value in map(str.strip, values):
        if value.startswith(_IN):
            if version < ANY_TRAIT:
                raise _invalid(
                    "The format 'in:HW_CPU_X86_VMX,CUSTOM_MAGIC' only supported since microversion"
                    " 1.39."
                )
            yield True, _trait_names(value.removeprefix(_IN).split(","), value, version)
            continue
        for name in value.split(","):
            is_forbidden = name.startswith("!") and version >= FORBIDDEN_TRAITS
            yield not is_forbidden, _trait_names([name[is_forbidden:]], value, version)


def _trait_names(names: list[str], value: str, version: int) -> frozenset[str]:
    if not all(_NAME.fullmatch(name) for name in names):
        mark = "!" if version >= FORBIDDEN_TRAITS else ""
        raise _invalid(
            "Expected 'required' parameter value of the form: HW_CPU_X86_VMX,"
            f"{mark}CUSTOM_MAGIC. Got: {value}"
        )
    unknown = sorted(name for name in names if not is_trait(name))
    if unknown:
        raise exception.Invalid(f"No such trait(s): {', '.join(unknown)}.")
    return frozenset(names)


def _aggregates(values: Iterable[str], version: int) -> Iterable[tuple[bool, frozenset[str]]]:
    """Yield sets of which one is required (True), or of which none may be had (False)."""
    for value in values:
        is_forbidden = value.startswith("!")
        if is_forbidden and version < FORBIDDEN_AGGREGATES:
            raise _invalid(
                "Forbidden member_of parameters are not supported in the specified microversion"
            )
        rest = value.removeprefix("!")
        uuids = rest.removeprefix(_IN).split(",") if rest.startswith(_IN) else [rest]
        if "," in uuids[0]:
            raise _invalid(
                "Multiple values for 'member_of' must be prefixed with the 'in:' or '!in:' keyword"
                " using the valid microversion."
            )
        if not all(is_uuid(each) for each in uuids):
            raise _invalid(f"Expected 'member_of' parameter to contain valid UUID(s). Got: {value}")
        yield not is_forbidden, frozenset(str(uuid.UUID(each)) for each in uuids)


def _invalid(reason: str) -> exception.Invalid:
    return exception.Invalid(f"Invalid query string parameters: {reason}")
