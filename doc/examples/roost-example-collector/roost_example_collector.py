"""Counts the licences of this host, by a file of its name with a number in it."""

import pathlib
from typing import Any, Self

from roost.compute.collectors import Collected
from roost.objects import ResourceInventory


class Licences:
    """Says how many licences there are, again and again."""

    interval = 10.0  # seconds from one answer to the next question

    def __init__(self, path: pathlib.Path) -> None:
        self._path = path

    @classmethod
    def from_conf(cls, conf: Any, *, node: str) -> Self:
        return cls(pathlib.Path(conf.state_path, "licences", node))

    def collect(self) -> Collected:
        total = int(self._path.read_text())
        licences = ResourceInventory.of(
            resource_class="CUSTOM_LICENSE", total=total, max_unit=max(1, total)
        )
        return Collected(inventories=(licences,), metrics={"licences.total": float(total)})
