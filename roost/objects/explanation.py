"""Explanations of scheduling: why a request would get these hosts, or none."""

from collections.abc import Iterable, Mapping
from typing import Any

from oslo_versionedobjects import fields

from roost.objects import base


@base.VersionedObjectRegistry.register
class NearMiss(base.RoostObject):
    """The host that came closest to passing a filter, and a text on what it lacks."""

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(),
        "lacks": fields.StringField(),
    }


@base.VersionedObjectRegistry.register
class FilterVerdict(base.RoostObject):
    """The result of one filter: it checked ``asked`` hosts; ``reasons`` counts those it refused.

    ``nearest`` is the refused host that came closest to passing, if the filter can compare.
    """

    VERSION = "1.0"
    fields = {
        "filter": fields.StringField(),
        "asked": fields.IntegerField(),
        "reasons": fields.DictOfIntegersField(default={}),
        "nearest": fields.ObjectField("NearMiss", nullable=True, default=base.NOTHING),
    }


@base.VersionedObjectRegistry.register
class RankedHost(base.RoostObject):
    """A host that passed every filter: its score, and how each weigher adds to it."""

    VERSION = "1.0"
    fields = {
        "host": fields.StringField(),
        "node": fields.StringField(),
        "cell_uuid": fields.UUIDField(),
        "score": fields.FloatField(),
        "weights": base.DictOfFloatsField(default={}),
    }


@base.VersionedObjectRegistry.register
class Explanation(base.RoostObject):
    """A simulated decision: the filters in order, and the best hosts.

    ``fitting`` of the ``wanted`` instances would get a host; ``sentence`` is the user's message if
    that is not enough.
    """

    VERSION = "1.0"
    fields = {
        "wanted": fields.IntegerField(),
        "fitting": fields.IntegerField(),
        "hosts": fields.IntegerField(),
        "verdicts": fields.ListOfObjectsField("FilterVerdict"),
        "ranked": fields.ListOfObjectsField("RankedHost"),
        "chosen": fields.ListOfObjectsField("Selection"),
        "sentence": fields.StringField(nullable=True, default=base.NOTHING),
    }


def verdicts_of(details: Mapping[str, Any]) -> list[FilterVerdict]:
    """Return the filters' verdicts, from the details of a :class:`roost.exception.NoValidHost`."""
    refusals, nearest = details.get("refusals", {}), details.get("nearest", {})
    asked = details.get("asked") or {
        name: sum(counts.values()) for name, counts in refusals.items()
    }
    return [
        FilterVerdict.of(
            filter=name,
            asked=count,
            reasons=refusals.get(name, {}),
            nearest=NearMiss.of(**nearest[name]) if name in nearest else None,
        )
        for name, count in asked.items()
    ]


def plain(verdict: FilterVerdict) -> dict[str, Any]:
    """Return a verdict as JSON values, for output."""
    return {
        "filter": verdict.filter,
        "asked": verdict.asked,
        "refused": sum(verdict.reasons.values()),
        "reasons": dict(verdict.reasons),
        "nearest": verdict.nearest.values() if verdict.nearest else None,
    }


def nearest_misses(verdicts: Iterable[FilterVerdict]) -> str:
    """Return one line on the hosts that came closest; empty where no filter can compare."""
    return ", ".join(
        f"{verdict.filter} on {verdict.nearest.host} ({verdict.nearest.lacks})"
        for verdict in verdicts
        if verdict.nearest
    )
