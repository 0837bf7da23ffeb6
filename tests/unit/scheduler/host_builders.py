"""Hosts for tests of decisions: a test names only what matters to it."""

import itertools
import json

import numpy as np

from roost import conf
from roost.db.scheduler.hosts import HostRow
from roost.objects import Aggregate
from roost.scheduler import plugins
from roost.scheduler.engine import Engine
from roost.scheduler.hosts import HostColumns
from roost.scheduler.request import Request
from roost.scheduler.table import by_host, enrol
from tests.builders import CELL1, NOW, a_spec, a_uuid, taken
from tests.builders import SIZES as CLASSES


def filters_of(*names, **options):
    return plugins.load_filters(conf.of({"scheduler": {"filters": names, **options}}).scheduler)


def weighers_of(*names, **options):
    return plugins.load_weighers(conf.of({"scheduler": {"weighers": names, **options}}).scheduler)


FILTERS = filters_of(
    "enabled", "requested", "retry", "availability_zone", "ram", "cpu", "pcpu", "disk"
)
WEIGHERS = weighers_of("ram", "cpu", "disk")
SIZES = {name: size for name, _, size in CLASSES}
MOST = 2**40  # at once: as much as is free
AMOUNTS = ("total", "reserved", "min_unit", "max_unit", "step_size", "allocation_ratio")
PROFILE = ("hypervisor_type", "hypervisor_version", "architectures", "capabilities", "traits", "labels")  # fmt: skip  # noqa: E501
NOTHING = {}
_ids = itertools.count(1)


def a_row(host="h1", *, used=NOTHING, metrics=None, topology=None, providers=(), **values):
    """A host; sizes, and what its profile has, may be named among the values.

    ``used``: so much of the sizes, and so many instances.
    """
    sizes = {name: values.pop(name, size) for name, size in SIZES.items()}
    profile = {name: values.pop(name) for name in PROFILE if name in values}
    cells, pools = topology or ((), ())
    parts = [[one.obj_to_primitive() for one in part] for part in (cells, pools)]
    node, *others = [[*each] for each in map(_stored, providers)] or [["", "", None, [], {}]]
    node[-1] |= {each: [sizes[name], 0, 1, MOST, 1, 1.0] for name, each, _ in CLASSES}
    return HostRow(
        **{
            "id": next(_ids),
            "generation": 1,
            "described": 1,
            "host": host,
            "node": host,
            "cell_uuid": CELL1,
            "availability_zone": "nova",
            "enabled": True,
            "told_down": False,
            "reported_at": NOW.timestamp(),
            "instances": used.get("instances", 0),
            "used": taken(**{name: used[name] for name in SIZES if name in used}),
            "profile": json.dumps(profile),
            "inventories": json.dumps([node, *others]),
            "topology": json.dumps(parts) if any(parts) else None,
            "metrics": json.dumps(metrics) if metrics else None,
        }
        | values
    )


def _stored(provider):
    classes = {
        one.resource_class: [getattr(one, amount) for amount in AMOUNTS]
        for one in provider.inventories
    }
    return provider.name, provider.parent, provider.uuid, list(provider.traits), classes


def an_aggregate(*hosts, **metadata):
    return Aggregate.of(
        id=1, uuid=a_uuid(), name="aggregate", hosts=list(hosts), metadata=metadata, version=1
    )


def hosts_of(*rows, aggregates=()):
    hosts = HostColumns(rows)
    enrol(hosts, np.arange(len(rows)), by_host(aggregates))
    return hosts


def an_engine(filters=FILTERS, weighers=WEIGHERS, **options):
    return Engine(filters, weighers, **options)


def a_request(*, count=1, alternates=0, placed=None, group_counts=None, rows_of=None, **spec):
    return Request.of(
        a_spec(**spec),
        placed=[None] * count if placed is None else placed,
        alternates=alternates,
        group_counts=group_counts,
        rows_of=rows_of,
    )
