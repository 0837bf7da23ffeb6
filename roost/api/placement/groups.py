"""Requests for allocation candidates: with groups, and what must come from one part of a node.

A group has a suffix: ``resources1`` goes with ``required1``, ``member_of1`` and ``in_tree1``. All
of it comes from one provider. What has no suffix may come from several, each class from one.
"""

import dataclasses
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from roost import exception
from roost.api.placement import requirements
from roost.api.placement.providers import Provider
from roost.api.placement.requirements import ProviderRequirements
from roost.api.request import Query

RESOURCELESS: Final = 36
ISOLATE: Final = "isolate"
POLICIES: Final = ("none", ISOLATE)
_SUFFIXED: Final = re.compile(r"(resources|required|member_of|in_tree)(.*)")
_ORPHANS: Final = {"required": "traits", "member_of": "member_of", "in_tree": ""}


class GroupShare(NamedTuple):
    """What one provider gives: of a group, or of one class without a group."""

    suffix: str
    amounts: Mapping[str, int]
    at: int = 0


@dataclasses.dataclass(frozen=True, kw_only=True)
class CandidateRequest:
    """What a candidate has.

    :ivar groups: by suffix; "" is what has none
    :ivar trees: uuids of providers, all of which must be of the node
    :ivar isolated: whether no two groups come from one provider
    :ivar subtrees: sets of suffixes; one provider of each set is above all others of it
    :ivar root: what the node itself must have
    """

    groups: Mapping[str, ProviderRequirements]
    trees: frozenset[str]
    isolated: bool
    subtrees: Sequence[frozenset[str]]
    root: ProviderRequirements

    @property
    def classes(self) -> frozenset[str]:
        return frozenset(name for one in self.groups.values() for name in one.resources)

    @property
    def everything(self) -> list[ProviderRequirements]:
        return [*self.groups.values(), self.root]

    def choose(
        self, tree: Sequence[Provider], member_of: Collection[str]
    ) -> list[GroupShare] | None:
        """Return what the providers of a node would give, all of it unused; None: they have not.

        :param tree: the node first
        :param member_of: the aggregates of the node. What has no suffix may come from its parts,
            too; a group comes from a provider that is itself in them, and parts are in none
        """
        if not self.trees.issubset(one.uuid for one in tree):
            return None
        if not self.root.suit(tree[0].part.traits):
            return None
        givers = {
            suffix: [at for at, one in enumerate(tree) if self._suits(suffix, at, one, member_of)]
            for suffix in self.groups
        }
        return next(self._ways(tree, givers, list(self._wanted()), ()), None)

    def _suits(self, suffix: str, at: int, one: Provider, member_of: Collection[str]) -> bool:
        """Return whether a provider may give something of a group, or of what has no suffix."""
        group = self.groups[suffix]
        if not suffix:
            return group.allow(member_of)
        return group.suit(one.part.traits) and group.allow(() if at else member_of)

    def _wanted(self) -> Iterator[GroupShare]:
        for suffix, one in self.groups.items():
            if suffix:
                yield GroupShare(suffix, one.resources)
            else:
                yield from (GroupShare("", {name: many}) for name, many in one.resources.items())

    def _ways(
        self,
        tree: Sequence[Provider],
        givers: Mapping[str, Sequence[int]],
        wanted: Sequence[GroupShare],
        chosen: tuple[GroupShare, ...],
    ) -> Iterator[list[GroupShare]]:
        """Yield the ways to give all that is wanted, after what is chosen."""
        if not wanted:
            if self._goes_together(tree, chosen):
                yield list(chosen)
            return
        for at in givers[wanted[0].suffix]:
            share = wanted[0]._replace(at=at)
            if self._may_give(tree[at], share, chosen):
                yield from self._ways(tree, givers, wanted[1:], (*chosen, share))

    def _may_give(self, one: Provider, share: GroupShare, chosen: Collection[GroupShare]) -> bool:
        before = [each for each in chosen if each.at == share.at]
        if self.isolated and share.suffix and any(each.suffix for each in before):
            return False
        return all(
            requirements.has(one.part, name, amount)
            and requirements.has(
                one.part, name, amount + sum(each.amounts.get(name, 0) for each in before)
            )
            for name, amount in share.amounts.items()
        )

    def _goes_together(self, tree: Sequence[Provider], chosen: Collection[GroupShare]) -> bool:
        own = self.groups.get("")
        traits = {trait for one in chosen if not one.suffix for trait in tree[one.at].part.traits}
        if own is not None and not own.suit(traits):
            return False
        parents = {one.uuid: one.parent_uuid for one in tree}
        return all(
            _is_subtree([tree[one.at].uuid for one in chosen if one.suffix in some], parents)
            for some in self.subtrees
        )


def _is_subtree(uuids: Collection[str], parents: Mapping[str, str | None]) -> bool:
    """Return whether one of the providers is above all others."""

    def above(identity: str | None) -> set[str]:
        found = set()
        while identity is not None:
            found.add(identity)
            identity = parents[identity]
        return found

    return not uuids or any(all(root in above(each) for each in uuids) for root in uuids)


def read(query: Query, *, version: int) -> CandidateRequest:
    """Return what a query requests.

    :raises roost.exception.Invalid: when it is malformed, or its groups do not go together
    """
    named = [found.groups() for name in query.values if (found := _SUFFIXED.fullmatch(name))]
    suffixes = dict.fromkeys(sorted(suffix for _, suffix in named))
    subtrees = [_subtree(text, suffixes) for text in query.in_turn("same_subtree")]
    _check_orphans(named, frozenset().union(*subtrees), version)
    groups = {
        suffix: requirements.read(query, version=version, suffix=suffix) for suffix in suffixes
    }
    policies = query.in_turn("group_policy")
    if not policies and sum(bool(suffix and one.resources) for suffix, one in groups.items()) > 1:
        raise exception.Invalid(
            'The "group_policy" parameter is required when specifying more than one'
            ' "resources{N}" parameter.'
        )
    return CandidateRequest(
        groups=groups,
        trees=frozenset(requirements.tree(query, suffix) for suffix in suffixes) - {""},
        isolated=policies[:1] == [ISOLATE],
        subtrees=subtrees,
        root=requirements.read_root(query, version=version),
    )


def _subtree(text: str, suffixes: Collection[str]) -> frozenset[str]:
    found = [suffix.strip() for suffix in text.split(",")]
    if "" in found:
        raise exception.Invalid(
            "Empty string (unsuffixed group) can not be specified in `same_subtree`"
        )
    unknown = sorted(set(found).difference(suffixes))
    if unknown:
        raise exception.Invalid(
            f"Real suffixes should be specified in `same_subtree`: {', '.join(unknown)} not found."
        )
    return frozenset(found)


def _check_orphans(
    named: Collection[tuple[str, ...]], together: Collection[str], version: int
) -> None:
    """Make sure that each group has resources, or may do without.

    :raises roost.exception.Invalid: naming those that have not
    """
    full = {suffix for name, suffix in named if name == "resources"}
    for kind, word in _ORPHANS.items():
        orphans = sorted(suffix for name, suffix in named if name == kind and suffix not in full)
        if version >= RESOURCELESS:
            alone = [one for one in orphans if one and one not in together]
            if alone and full:
                raise exception.Invalid(
                    "Resourceless suffixed group request should be specified in `same_subtree`"
                    f" query param: bad group(s) - {', '.join(alone)}."
                )
            orphans = [one for one in orphans if not one]
        if orphans and kind == "in_tree":
            raise exception.Invalid("All request groups must specify resources.")
        if orphans:
            names = ", ".join(f"{kind}{one}" for one in orphans)
            raise exception.Invalid(f"Found the following orphaned {word} keys: {names}")
    if not full:
        raise exception.Invalid(
            "There must be at least one resources or resources[$S] parameter."
            if version >= RESOURCELESS
            else "At least one request group (`resources` or `resources{$S}`) is required."
        )
