"""The resource classes that flavors request, alone and in groups, as OpenStack documents them.

``resources:CLASS=n`` may come from any parts of a host, each class from one. What a group requests,
``resources1:CLASS=n`` with ``trait1:NAME=required``, comes from one part of the host, which has the
group's traits. A group may have traits only. With ``group_policy=isolate`` each group with
resources has a part of its own; ``same_subtree=1,2`` names groups whose parts are one of them and
what belongs to it. What ports request are groups, too, which the policy does not concern. Requests
for something else than servers have the same groups, as objects.

``VCPU``, ``PCPU``, ``MEMORY_MB`` and ``DISK_GB`` are no requests in this sense: they override the
sizes of the flavor (:func:`roost.objects.topology.sizes_of`).
"""

import collections
import functools
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roost import exception
from roost.hardware import spec_language, traits
from roost.objects import Flavor, PortResources, RequestGroup
from roost.objects.bounds import MOST
from roost.objects.inventory import HOST_CLASSES

POLICY: Final = "group_policy"
ISOLATE: Final = "isolate"
POLICIES: Final = ("none", ISOLATE)
SAME_SUBTREE: Final = "same_subtree"
SUFFIX: Final = "[a-zA-Z0-9_-]{1,64}"
_NAME: Final = re.compile(rf"(resources|trait)({SUFFIX})?:([A-Z0-9_]+)", re.ASCII)
_RESOURCES: Final = "resources"
_TRAIT: Final = "trait"
_DIGITS: Final = len(str(MOST))
_NO_AMOUNTS: Final[Mapping[str, int]] = {}


class ResourceGroup(NamedTuple):
    """Amounts by class, and traits; ``name`` is what follows ``resources``, often a number.

    ``port``: the port that requests it, and the name is its own; empty: the flavor does. The parts
    for all groups of one ``subtree`` are one of them and what belongs to it.
    """

    name: str
    amounts: tuple[tuple[str, int], ...]
    required: frozenset[str]
    forbidden: frozenset[str]
    port: str = ""
    subtree: str = ""


class ResourceGroups(NamedTuple):
    """What an instance needs beside CPUs, memory and disk; false when it is nothing.

    :ivar own: the request without a group
    :ivar isolated: whether no two groups of the flavor may come from one part of the host
    """

    own: ResourceGroup
    groups: tuple[ResourceGroup, ...]
    isolated: bool

    def __bool__(self) -> bool:
        return bool(self.own.amounts or self.groups)

    @property
    def classes(self) -> list[str]:
        """The classes that are named, each once."""
        groups = (self.own, *self.groups)
        return list(dict.fromkeys(name for group in groups for name, _ in group.amounts))


NOTHING: Final = ResourceGroups(ResourceGroup("", (), frozenset(), frozenset()), (), False)


def requested_by(
    specs: Mapping[str, str],
    properties: Mapping[str, str],
    *,
    amounts: Mapping[str, int] = _NO_AMOUNTS,
    required: Collection[str] = (),
    forbidden: Collection[str] = (),
    groups: Sequence[RequestGroup] = (),
    isolated: bool = False,
    ports: Sequence[PortResources] = (),
) -> ResourceGroups:
    """Return what extra specs request, with the traits of an image's properties, and what ports do.

    The API has checked the values.

    :param amounts: more without a group, by class; and more traits that are required or forbidden
    :param groups: more groups; ``isolated``: whether no two groups come from one part
    """
    if not specs and not amounts and not groups and not ports:
        return NOTHING
    named = (tuple(sorted(amounts.items())), frozenset(required), frozenset(forbidden))
    asked = _read(tuple(specs.items()), tuple(properties.items()), ResourceGroup("", *named))
    of_ports = tuple(
        ResourceGroup(
            one.group_id,
            tuple(sorted(one.amounts.items())),
            frozenset(one.required),
            frozenset(),
            one.port_id,
            one.port_id,
        )
        for one in ports
    )
    if groups or of_ports:
        more = (*map(_named, groups), *of_ports)
        asked = ResourceGroups(asked.own, (*asked.groups, *more), asked.isolated or isolated)
    return asked or NOTHING


def check_request(groups: Sequence[RequestGroup], *, policy: str) -> None:
    """Make sure that the groups of a request are clear.

    :raises roost.exception.Invalid: naming the group
    """
    if policy not in POLICIES:
        raise exception.Invalid(f"{POLICY} must be one of {', '.join(POLICIES)}, not '{policy}'")
    names = [one.name for one in groups]
    for one in groups:
        if not one.name or names.count(one.name) > 1:
            raise exception.Invalid(f"A group must have a name of its own, not '{one.name}'.")
        traits_only = not one.resources and (one.required_traits or one.forbidden_traits)
        if min(one.resources.values(), default=0) < 1 and not traits_only:
            raise exception.Invalid(f"The group '{one.name}' must request some of each resource.")
        of_host = sorted(set(HOST_CLASSES).intersection(one.resources))
        if of_host:
            raise exception.Invalid(f"The group '{one.name}' cannot request {', '.join(of_host)}.")


def _named(group: RequestGroup) -> ResourceGroup:
    return ResourceGroup(
        group.name,
        tuple(sorted(group.resources.items())),
        frozenset(group.required_traits),
        frozenset(group.forbidden_traits),
    )


def complaints(flavor: Flavor) -> list[str]:
    """Return what is wrong with the groups of a flavor."""
    return list(_complaints(tuple(flavor.extra_specs.items())))


def check(flavor: Flavor) -> None:
    """Make sure that the groups of a flavor are clear.

    :raises roost.exception.Invalid: naming the group
    """
    for complaint in complaints(flavor):
        raise exception.Invalid(complaint)


@functools.lru_cache(maxsize=4096)
def _read(
    specs: spec_language.Items, properties: spec_language.Items, named: ResourceGroup
) -> ResourceGroups:
    parts = _parts(specs)
    own = parts.pop("", {})
    both = (*properties, *specs)
    amounts = collections.Counter(dict(_group("", own).amounts))
    amounts.update(dict(named.amounts))
    mine = ResourceGroup(
        "",
        tuple((name, amounts[name]) for name in sorted(amounts) if amounts[name]),
        named.required.union(traits.required_by(both)),
        named.forbidden.union(traits.forbidden_by(both)),
    )
    together = _together(specs)
    groups = (
        _group(name, part)._replace(subtree=SAME_SUBTREE if name in together else "")
        for name, part in sorted(parts.items())
    )
    found = tuple(group for group in groups if _requests(group))
    return ResourceGroups(mine, found, dict(specs).get(POLICY, "").strip() == ISOLATE)


@functools.lru_cache(maxsize=4096)
def _complaints(specs: spec_language.Items) -> tuple[str, ...]:
    parts = _parts(specs)
    found = list(_wrong_values(parts))
    named = {name: _group(name, part) for name, part in parts.items() if name}
    for name, group in named.items():
        if not _requests(group):
            found.append(
                f"The group '{name}' requests nothing: set resources{name}:CLASS=1, or remove its"
                f" extra specs"
            )
    found += [
        f"{SAME_SUBTREE} names the group '{name}', which the flavor does not have"
        for name in sorted(_together(specs) - named.keys())
    ]
    policy = dict(specs).get(POLICY, "").strip()
    if policy and policy not in POLICIES:
        found.append(f"{POLICY} must be one of {', '.join(POLICIES)}, not '{policy}'")
    several = sorted(name for name, group in named.items() if group.amounts)
    if len(several) > 1 and not policy:
        found.append(
            f"The flavor has several groups of resources ({', '.join(several)}), so it needs"
            f" {POLICY}: {' or '.join(POLICIES)}"
        )
    return tuple(found)


def _wrong_values(parts: Mapping[str, Mapping[str, Mapping[str, str]]]) -> Iterator[str]:
    """Yield what is wrong with amounts of classes, and with traits of groups."""
    for group, part in parts.items():
        for name, text in part.get(_RESOURCES, {}).items():
            if _amount(text) is None:
                yield (
                    f"The extra spec {_RESOURCES}{group}:{name} must be a whole number from 0 to"
                    f" {MOST}, not '{text}'"
                )
        for name, text in part.get(_TRAIT, {}).items() if group else ():
            if text not in traits.VALUES:
                allowed = " or ".join(traits.VALUES)
                yield f"The extra spec {_TRAIT}{group}:{name} must be {allowed}, not '{text}'"


def _amount(text: str) -> int | None:
    """Return the number that a text is, or None."""
    digits = text.lstrip("0") or text[:1]
    if not (digits.isascii() and digits.isdigit() and len(digits) <= _DIGITS):
        return None
    return int(digits) if int(digits) <= MOST else None


def _requests(group: ResourceGroup) -> bool:
    """Return whether a group requests anything."""
    return bool(group.amounts or group.required or group.forbidden)


def _together(specs: spec_language.Items) -> set[str]:
    """Return the groups whose parts must belong together."""
    names = dict(specs).get(SAME_SUBTREE, "").split(",")
    return {name.strip() for name in names if name.strip()}


def _parts(specs: spec_language.Items) -> dict[str, dict[str, dict[str, str]]]:
    """Return what extra specs say of each group: values by class or trait, by kind."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, value in specs:
        match = _NAME.fullmatch(name)
        if match is not None:
            kind, group, what = match.groups()
            found.setdefault(group or "", {}).setdefault(kind, {})[what] = value.strip()
    return found


def _group(name: str, part: Mapping[str, Mapping[str, str]]) -> ResourceGroup:
    amounts = {
        resource_class: _amount(text)
        for resource_class, text in sorted(part.get(_RESOURCES, {}).items())
        if resource_class not in HOST_CLASSES
    }
    said = part.get(_TRAIT, {})
    return ResourceGroup(
        name,
        tuple((one, amount) for one, amount in amounts.items() if amount),
        frozenset(trait for trait, text in said.items() if text == traits.REQUIRED),
        frozenset(trait for trait, text in said.items() if text == traits.FORBIDDEN),
    )
