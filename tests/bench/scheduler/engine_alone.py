"""The engine alone: decide, and claim in memory. Nothing is read or written."""

import itertools

from roost import conf
from roost.scheduler import engine, plugins
from roost.scheduler.request import Request
from tests.bench import meters
from tests.bench.scheduler import fleet
from tests.builders import a_flavor, a_group, a_numa_topology, a_spec

MEMBERS = 100  # of a server group
MANY = 1000  # servers in one request


def bench(counts, *, seconds):
    """Print decisions per second and what one costs, by number of hosts."""
    rows = [row for count in counts for row in _rows(count, seconds)]
    meters.table("Engine alone", rows)


def _rows(count, seconds):
    driver = plugins.load_driver(conf.of({}).scheduler)
    hosts = fleet.in_memory(count)
    for name, asked, alternates in (
        ("plain", plain, 0),
        ("plain", plain, 2),
        ("anti-affinity, groups of 100", in_groups, 0),
        ("anti-affinity, groups of 100", in_groups, 2),
        ("zone, aggregate and traits", demanding, 0),
        ("zone, aggregate and traits", demanding, 2),
        ("each its own flavor", all_different, 0),
    ):
        requests = asked(alternates)
        spent = meters.repeat(lambda: _decide(driver, next(requests), hosts), seconds=seconds)  # noqa: B023
        yield row_of(name, count, alternates, spent)
    pinned = fleet.in_memory(count, pinning=True)
    for alternates in (0, 2):
        requests = pinning(alternates)
        spent = meters.repeat(
            lambda: _decide_and_undo(driver, next(requests), pinned),  # noqa: B023
            seconds=seconds,
        )
        yield row_of("NUMA, 4 pinned CPUs", count, alternates, spent)
    for classes in (3, 30):
        stocked, requests = fleet.in_memory(count, classes=classes), custom_resources(classes)
        _warm_up(driver, requests, stocked)
        spent = meters.repeat(
            lambda: _decide(driver, next(requests), stocked),  # noqa: B023
            seconds=seconds,
        )
        yield row_of(f"{classes} custom resource classes", count, 0, spent)
    for parts in (2, 8):
        stocked, requests = fleet.in_memory(count, parts=parts), groups(2)
        _warm_up(driver, requests, stocked)
        spent = meters.repeat(
            lambda: _decide(driver, next(requests), stocked),  # noqa: B023
            seconds=seconds,
        )
        yield row_of(f"2 groups, {parts} parts of a host", count, 0, spent)
    yield row_of("1,000 servers in one request", count, 2, _many(driver, hosts))


def plain(alternates):
    specs = itertools.cycle(fleet.specs())
    return (Request.of(spec, alternates=alternates) for spec in specs)


def in_groups(alternates):
    groups = [a_spec(group=a_group(policy="anti-affinity")) for _ in range(50)]
    for spec in itertools.cycle(groups):
        members = {}
        for _ in range(MEMBERS):
            yield Request.of(spec, alternates=alternates, group_counts=members)


def demanding(alternates):
    extra_specs = {
        "aggregate_instance_extra_specs:ssd": "true",
        f"trait:{fleet.TRAIT}": "required",
        "trait:CUSTOM_OLD": "forbidden",
    }
    specs = [
        a_spec(
            availability_zone=fleet.ZONES[0],
            flavor=a_flavor(vcpus=1 + kind, memory_mb=2048 * (1 + kind), extra_specs=extra_specs),
        )
        for kind in range(4)
    ]
    return (Request.of(spec, alternates=alternates) for spec in itertools.cycle(specs))


def all_different(alternates):
    """No two requests in sight of each other are alike: nothing that is remembered helps."""
    specs = [a_spec(flavor=a_flavor(memory_mb=512 + kind)) for kind in range(1000)]
    return (Request.of(spec, alternates=alternates) for spec in itertools.cycle(specs))


def pinning(alternates):
    numa = a_numa_topology({"pcpus": [0, 1, 2, 3], "memory_mb": 4096}, cpu_policy="dedicated")
    spec = a_spec(flavor=a_flavor(vcpus=4, memory_mb=4096), numa_topology=numa)
    return (Request.of(spec, alternates=alternates) for _ in itertools.count())


def custom_resources(classes):
    asked = {f"resources:CUSTOM_{at}": "1" for at in range(classes)}
    specs = [a_spec(flavor=a_flavor(vcpus=1 + kind, extra_specs=asked)) for kind in range(4)]
    return (Request.of(spec) for spec in itertools.cycle(specs))


def groups(number):
    asked = {f"resources{at}:VGPU": "1" for at in range(number)} | {"group_policy": "isolate"}
    specs = [a_spec(flavor=a_flavor(vcpus=1 + kind, extra_specs=asked)) for kind in range(4)]
    return (Request.of(spec) for spec in itertools.cycle(specs))


def row_of(name, count, alternates, spent):
    return {
        "request": name,
        "hosts": count,
        "alternates": alternates,
        "decisions/s": round(spent.rate, 1),
        "CPU us": round(spent.microseconds),
        "per CPU s": round(1e6 / spent.microseconds),
    }


def _warm_up(driver, requests, hosts):
    """Have all hosts ranked for each of the few flavors, as they are after a moment."""
    for _ in range(8):
        _decide(driver, next(requests), hosts)


def _many(driver, hosts):
    request = Request.of(a_spec(), placed=[None] * MANY, alternates=2)
    return meters.once(lambda: _decide(driver, request, hosts))


def _decide(driver, request, hosts):
    decision = driver.decide(request, hosts)
    assert decision.chosen, decision.refusals


def _decide_and_undo(driver, request, hosts):
    decision = driver.decide(request, hosts)
    assert decision.chosen, decision.refusals
    engine.undo(request, hosts, decision.chosen)
