"""``/placement/traits`` and ``/placement/resource_classes``: standard names, and those of hosts."""

from typing import Any, Final

import os_resource_classes

from roost import exception
from roost.api.dependencies import Dependencies
from roost.api.placement.microversions import ROOT
from roost.api.placement.providers import TRAITS
from roost.api.placement.rows import row, rule, strict_query
from roost.api.request import Answer, Call
from roost.api.route import Route
from roost.api.validation import BOOLEAN
from roost.objects.inventory import providers_of, standard_traits

_CLASSES: Final = 2
_IN: Final = "in:"
_STARTS: Final = "startswith:"
TRAITS_QUERY: Final = strict_query(
    {
        "name": (TRAITS, {"type": "string", "pattern": f"^({_IN}|{_STARTS}).+$"}),
        "associated": (TRAITS, BOOLEAN),
    }
)


class PlacementNames:
    """Handlers of traits and resource classes; custom names exist while a host has them."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._scheduler = dependencies.scheduler

    def list_traits(self, call: Call) -> Answer:
        asked = call.query.one("name")
        is_associated = call.query.flag("associated")
        had = self._traits(call)
        found = had if is_associated else standard_traits() - had
        if is_associated is None:
            found = had | standard_traits()
        return Answer({"traits": [name for name in sorted(found) if _matches(name, asked)]})

    def show_trait(self, call: Call) -> Answer:
        asked = call.params["trait"]
        if asked not in standard_traits() and asked not in self._traits(call):
            raise exception.NotFound(f"No such trait(s): {asked}.")
        return Answer()

    def list_classes(self, call: Call) -> Answer:
        return Answer({"resource_classes": [_class(name) for name in self._classes(call)]})

    def show_class(self, call: Call) -> Answer:
        asked = call.params["resource_class"]
        if asked not in self._classes(call):
            raise exception.NotFound(f"No such resource class {asked}.")
        return Answer(_class(asked))

    def _traits(self, call: Call) -> set[str]:
        """Return the traits that hosts have."""
        hosts = self._scheduler.all_hosts(call.context)
        return {
            name for report in hosts for _, part in providers_of(report) for name in part.traits
        }

    def _classes(self, call: Call) -> list[str]:
        hosts = self._scheduler.all_hosts(call.context)
        had = {
            one.resource_class
            for report in hosts
            for _, part in providers_of(report)
            for one in part.inventories
        }
        standard = os_resource_classes.STANDARDS
        return [*standard, *sorted(had.difference(standard))]


def _matches(name: str, asked: str | None) -> bool:
    if asked is None:
        return True
    if asked.startswith(_IN):
        return name in asked.removeprefix(_IN).split(",")
    return name.startswith(asked.removeprefix(_STARTS))


def _class(name: str) -> dict[str, Any]:
    return {"name": name, "links": [{"rel": "self", "href": f"{ROOT}/resource_classes/{name}"}]}


_Noun: Final = PlacementNames

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "/traits",
        (_Noun, _Noun.list_traits),
        rule("traits:list", "List standard traits, and those that hosts have."),
        query=TRAITS_QUERY,
        since=TRAITS,
    ),
    row(
        "/traits/{trait}",
        (_Noun, _Noun.show_trait),
        rule("traits:show", "Check whether a trait exists."),
        status=204,
        since=TRAITS,
    ),
    row(
        "/resource_classes",
        (_Noun, _Noun.list_classes),
        rule("resource_classes:list", "List standard resource classes, and those that hosts have."),
        since=_CLASSES,
    ),
    row(
        "/resource_classes/{resource_class}",
        (_Noun, _Noun.show_class),
        rule("resource_classes:show", "Show a resource class."),
        since=_CLASSES,
    ),
)
