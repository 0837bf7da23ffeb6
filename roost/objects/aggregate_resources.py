"""What aggregates add to their hosts: resource classes and traits, by keys of their metadata.

``resources:CUSTOM_LICENSE=20`` gives each node of the aggregate so much of a class, and ``traits``
names traits, with commas. The API refuses other values.
"""

import dataclasses
import re
from collections.abc import Iterable
from typing import Final

from roost.objects.groups import Aggregate
from roost.objects.host import HostReport
from roost.objects.inventory import ResourceInventory, complaint_about

TRAITS: Final = "traits"
RESOURCES: Final = "resources:"
_NUMBER: Final = re.compile("[0-9]{1,9}", re.ASCII)


@dataclasses.dataclass
class AggregateResources:
    """What the aggregates of one host add to each of its nodes: amounts by class, and traits."""

    amounts: dict[str, int] = dataclasses.field(default_factory=dict)
    traits: set[str] = dataclasses.field(default_factory=set)

    def added_to(self, report: HostReport) -> HostReport:
        """Return a node's report with what is added; what it reports of a class itself stays."""
        own = {one.resource_class for one in report.inventories}
        more = sorted(self.amounts.keys() - own)
        values = {
            "inventories": [
                *report.inventories,
                *(_inventory(name, self.amounts[name]) for name in more),
            ],
            "traits": [*report.traits, *sorted(self.traits.difference(report.traits))],
        }
        return HostReport.of(**{**report.values(), **values})

    def learn(self, key: str, value: str) -> None:
        """Add an item of metadata; of several amounts the smallest counts."""
        if key == TRAITS:
            self.traits.update(_names(value))
        else:
            name, amount = key.removeprefix(RESOURCES), int(value)
            self.amounts[name] = min(amount, self.amounts.get(name, amount))


def by_host(aggregates: Iterable[Aggregate]) -> dict[str, AggregateResources]:
    """Return what is added to each host that gets something; wrong metadata adds nothing."""
    found: dict[str, AggregateResources] = {}
    for aggregate in aggregates:
        for key, value in aggregate.metadata.items():
            if _adds(key) and complaint(key, value) is None:
                for host in aggregate.hosts:
                    found.setdefault(host, AggregateResources()).learn(key, value)
    return found


def complaint(key: str, value: str) -> str | None:
    """Return what is wrong with an item of an aggregate's metadata; None: nothing."""
    if key == TRAITS:
        reason = complaint_about((), _names(value))
    elif key.startswith(RESOURCES) and not _NUMBER.fullmatch(value):
        reason = f"{value!r} is not a number from 0 to 999999999"
    elif key.startswith(RESOURCES):
        reason = complaint_about([_inventory(key.removeprefix(RESOURCES), int(value))], ())
    else:
        return None
    return reason and f"{key}: {reason}"


def _adds(key: str) -> bool:
    return key == TRAITS or key.startswith(RESOURCES)


def _names(value: str) -> list[str]:
    return [name.strip() for name in value.split(",") if name.strip()]


def _inventory(name: str, total: int) -> ResourceInventory:
    return ResourceInventory.of(resource_class=name, total=total, max_unit=total)
