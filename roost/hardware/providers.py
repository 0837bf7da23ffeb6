"""Providers: a host as a whole and its parts, what is free of each, and what an instance gets.

Pure and deterministic. Providers are not changed, so that trials have no effect on them.
"""

import collections
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, Self

from roost.hardware.resource_groups import ResourceGroups
from roost.objects import ResourceProvider
from roost.objects.allocations import Allocations, Amounts, plus


class Stock(NamedTuple):
    """What is free of a resource class; one instance gets from ``least`` to ``most``, in steps."""

    free: int
    least: int
    most: int
    step: int

    def allows(self, amount: int) -> bool:
        """Return whether one instance may have so much, if it is free."""
        return self.least <= amount <= self.most and amount % self.step == 0


class FreeProvider(NamedTuple):
    """A host as a whole, whose name is empty, or one of its parts; stocks by class."""

    name: str
    traits: frozenset[str]
    stocks: Mapping[str, Stock]
    parent: str = ""

    @classmethod
    def held(cls, provider: ResourceProvider, amounts: Mapping[str, int]) -> Self:
        """Return a provider as if an instance's share of it were all there is."""
        stocks = {name: Stock(amount, 1, amount, 1) for name, amount in amounts.items()}
        return cls(provider.name, frozenset(provider.traits), stocks, provider.parent)

    def changed(self, amounts: Amounts, *, sign: int) -> Self:
        """Return it with so much more (1) or less (-1) of some classes; others are ignored.

        Amounts may become negative.
        """
        stocks = dict(self.stocks)
        for name, more in amounts.items():
            if name in stocks:
                free, least, most, step = stocks[name]
                stocks[name] = Stock(free + sign * more, least, most, step)
        return self._replace(stocks=stocks)

    def holding(self, amounts: Iterable[tuple[str, int]]) -> Self:
        """Return it with so much taken by an instance, which may get the less of it later."""
        stocks = dict(self.stocks)
        for name, amount in amounts:
            free, least, most, step = stocks[name]
            stocks[name] = Stock(free - amount, least, most - amount, step)
        return self._replace(stocks=stocks)


def recount(
    providers: tuple[FreeProvider, ...], allocations: Allocations, *, sign: int
) -> tuple[FreeProvider, ...]:
    """Return the providers with allocations given back (1) or taken (-1).

    Those of providers that the host does not have (any more) are ignored.
    """
    if allocations.keys().isdisjoint(one.name for one in providers):
        return providers
    return tuple(
        one.changed(allocations[one.name], sign=sign) if one.name in allocations else one
        for one in providers
    )


class _Part(NamedTuple):
    """What must come from one provider: a group, or a class of the request without a group.

    A group may have traits only. ``port``: the port that requests it. Those of one ``subtree`` come
    from providers of one subtree.
    """

    amounts: tuple[tuple[str, int], ...]
    required: frozenset[str]
    forbidden: frozenset[str]
    group: str = ""
    port: str = ""
    subtree: str = ""

    @property
    def names(self) -> str:
        return " and ".join(name for name, _ in self.amounts)

    def suits(self, provider: FreeProvider) -> bool:
        """Return whether the traits of a provider are as they must be."""
        return self.required <= provider.traits and self.forbidden.isdisjoint(provider.traits)

    def fits(self, provider: FreeProvider) -> bool:
        """Return whether a provider has all of it free."""
        stocks = provider.stocks
        for name, amount in self.amounts:
            stock = stocks.get(name)
            if stock is None:
                return False
            free, least, most, step = stock
            if free < amount or not least <= amount <= most or amount % step:
                return False
        return self.suits(provider)


class Allocator:
    """Finds what instances get for a request, on one host after the other."""

    def __init__(self, request: ResourceGroups) -> None:
        own = request.own
        single = [_Part((one,), _NO_TRAITS, own.forbidden) for one in own.amounts]
        groups = [
            _Part(one.amounts, one.required, one.forbidden, one.name, one.port, one.subtree)
            for one in request.groups
        ]
        self._request = request
        self._parts = groups + single

    def find(self, providers: Sequence[FreeProvider]) -> Allocations | str:
        """Return what an instance would get of a host, or, for users, why it does not fit.

        The first provider is the host as a whole. An allocation is found if one exists; of several
        providers that would do, the host comes first, then the one with the least free.
        """
        if len(providers) == 1 and not self._request.groups:
            lack = self._lack_of_whole(providers[0].stocks)
            return lack or {"": dict(self._request.own.amounts)}
        choices = [sum(map(part.fits, providers)) for part in self._parts]
        if not all(choices):
            return _lack(self._parts[choices.index(0)], providers)
        found = self._search(providers, choices)
        if found is None:
            names = " and ".join(self._request.classes)
            return f"{f'not enough {names} in' if names else 'no'} parts that go together"
        allocations: Allocations = {}
        for part, name in found:
            allocations = plus(allocations, {name: dict(part.amounts)})
        return allocations

    def providers_of_groups(self, providers: Sequence[FreeProvider]) -> dict[str, str] | None:
        """Return the name of each group's provider, for an allocation as :meth:`find` returns it.

        :param providers: :meth:`FreeProvider.held` by the instance; the host as a whole is first
        :returns: None: the request does not go with what is held
        """
        found = self._search(providers, [sum(map(part.fits, providers)) for part in self._parts])
        if found is None:
            return None
        return {part.group: name for part, name in found if part.group}

    def _search(
        self, providers: Sequence[FreeProvider], choices: Sequence[int]
    ) -> "list[_Choice] | None":
        """Return the provider of each part; the parts with the fewest choices choose first."""
        parts = [self._parts[at] for at in sorted(range(len(choices)), key=choices.__getitem__)]
        search = _Search(parts, providers, isolated=self._request.isolated)
        return search.go_on(0, tuple(providers), (), self._missing(providers))

    def lack(self, providers: Sequence[FreeProvider]) -> str | None:
        """Return, for users, why an instance does not fit on a host; None: it does."""
        if len(providers) == 1 and not self._request.groups:  # most hosts, so it must be quick
            return self._lack_of_whole(providers[0].stocks)
        found = self.find(providers)
        return found if isinstance(found, str) else None

    def _lack_of_whole(self, stocks: Mapping[str, Stock]) -> str | None:
        for name, amount in self._request.own.amounts:
            stock = stocks.get(name)
            if stock is None:
                return f"no {name}"
            free, least, most, step = stock
            if amount < least or amount > most or amount % step:
                return _NOT_ALLOWED.format(amount, name)
            if free < amount:
                return f"not enough {name}"
        return None

    def _missing(self, providers: Sequence[FreeProvider]) -> frozenset[str]:
        """Return the required traits that parts have, and the host as a whole has not.

        Those that nobody has are a matter of the filter of traits.
        """
        whole, *parts = providers
        of_parts = _NO_TRAITS.union(*(part.traits for part in parts))
        return (self._request.own.required & of_parts) - whole.traits


_NO_TRAITS: Final[frozenset[str]] = frozenset()
_NOT_ALLOWED: Final = "{} {} at once are not allowed"


def _lack(part: _Part, providers: Sequence[FreeProvider]) -> str:
    """Return why no provider alone has a part of the request."""
    for name, _ in part.amounts:
        if not any(name in one.stocks for one in providers):
            return f"no {name}"
    having = [one for one in providers if all(name in one.stocks for name, _ in part.amounts)]
    if not having:
        return f"no part with {part.names}"
    suited = [one for one in having if part.suits(one)]
    if not suited:
        traits = [*sorted(part.required), *(f"not {trait}" for trait in sorted(part.forbidden))]
        return f"no {part.names or 'part'} with the traits {', '.join(traits)}"
    for name, amount in part.amounts:
        if not any(one.stocks[name].allows(amount) for one in suited):
            return _NOT_ALLOWED.format(amount, name)
    return f"not enough {part.names}"


_Choice = tuple[_Part, str]


class _Search:
    """Gives each part of a request a provider, by backtracking.

    It visits no state twice, and providers with equal traits and stocks are the same to it. So many
    equal parts, such as the GPUs of a host, cost little.
    """

    def __init__(
        self, parts: Sequence[_Part], providers: Iterable[FreeProvider], *, isolated: bool
    ) -> None:
        self._parts = parts
        self._isolated = isolated
        self._parents = {one.name: one.parent for one in providers if one.name}
        subtrees = collections.Counter(part.subtree for part in parts if part.subtree)
        self._several = {subtree for subtree, groups in subtrees.items() if groups > 1}
        self._vain: set[Hashable] = set()

    def go_on(
        self,
        at: int,
        providers: tuple[FreeProvider, ...],
        chosen: tuple[_Choice, ...],
        missing: frozenset[str],
    ) -> list[_Choice] | None:
        """Return the providers of all parts; None: there are none.

        :param chosen: the choices of the parts before ``at``
        :param missing: traits that providers of the request without a group must have yet
        """
        if at == len(self._parts):
            return None if missing or not self._go_together(chosen) else [*chosen]
        used = self._used(chosen)
        if self._vain and self._state(at, providers, used, missing) in self._vain:
            return None
        part = self._parts[at]
        for one in sorted(filter(part.fits, providers), key=_liking(part)):
            if self._is_alone(part) and ("", one.name) in used:
                continue
            taken = one.holding(part.amounts)
            found = self.go_on(
                at + 1,
                tuple(taken if each is one else each for each in providers),
                (*chosen, (part, one.name)),
                missing if part.group else missing - one.traits,
            )
            if found is not None:
                return found
        self._vain.add(self._state(at, providers, used, missing))
        return None

    def _is_alone(self, part: _Part) -> bool:
        """Return whether a part gets a provider of its own: the policy is the flavor's."""
        return self._isolated and bool(part.group and part.amounts) and not part.port

    def _used(self, chosen: Iterable[_Choice]) -> frozenset[tuple[str, str]]:
        """Return the choices that limit those of other parts, by subtree; "": of isolation."""
        found = {(part.subtree, name) for part, name in chosen if part.subtree in self._several}
        return frozenset(found.union(("", name) for part, name in chosen if self._is_alone(part)))

    def _go_together(self, chosen: Iterable[_Choice]) -> bool:
        """Return whether one provider of each subtree is the root of its others."""
        by_subtree: dict[str, list[str]] = {subtree: [] for subtree in self._several}
        for part, name in chosen:
            if part.subtree in self._several:
                by_subtree[part.subtree].append(name)
        return all(
            any(all(self._is_below(name, root) for name in names) for root in names)
            for names in by_subtree.values()
        )

    def _is_below(self, name: str, root: str) -> bool:
        while name and name != root:
            name = self._parents[name]
        return name == root

    def _state(
        self,
        at: int,
        providers: tuple[FreeProvider, ...],
        used: Collection[tuple[str, str]],
        missing: frozenset[str],
    ) -> Hashable:
        names = {name for _, name in used}
        if self._several:  # then it matters which providers are below which
            stocks = tuple(frozenset(one.stocks.items()) for one in providers)
            return at, missing, stocks, frozenset(used)
        kinds = (
            (one.traits, frozenset(one.stocks.items()), one.name in names) for one in providers
        )
        return at, missing, frozenset(collections.Counter(kinds).items())


def _liking(part: _Part) -> Callable[[FreeProvider], tuple[bool, int]]:
    """Return the order of providers: the host, then the fullest, so that others stay whole."""
    if not part.amounts:
        return lambda one: (bool(one.name), 0)
    name = part.amounts[0][0]
    return lambda one: (bool(one.name), one.stocks[name].free)
