"""Whatever one host says, or is stored of it: requests get hosts, also after a restart.

Every filter and weigher is active, and the requests need something of each kind.
"""

import copy
import json
import logging

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from roost import conf, exception
from roost.db.scheduler import models
from roost.objects import HostReport, InstanceResources, Locality, RequestGroup
from roost.scheduler import plugins
from roost.scheduler.changes import HostChanges
from roost.scheduler.manager import SchedulerManager
from tests.builders import (
    a_context,
    a_flavor,
    a_numa_cell,
    a_numa_topology,
    a_pci_pool,
    a_pci_request,
    a_provider,
    a_report,
    a_spec,
    a_uuid,
    an_image,
    an_inventory,
)
from tests.unit.scheduler.host_builders import an_aggregate
from tests.unit.scheduler.random_requests import OPTIONS
from tests.unit.scheduler.test_every_plug_in import FILTER_NAMES, WEIGHER_NAMES

CONTEXT = a_context()
WRONG = (
    *(2**31, 2**63, 2**70, -1, -(2**70), 0, 1.5, 1e308, True, None),
    *(float("nan"), float("inf"), -float("inf")),
    *("", "hot", "x" * 300, "x" * 5000, "\x00", "\ud800", "9" * 5000, "0"),
    *([], {}, [2**70], ["x" * 5000], {"x": 2**70}, {"x": "hot"}, {"": None}, [[]]),
)
HOLDER = a_uuid()


def says(host, **values):
    """The report of a host that all the requests fit on."""
    resources = InstanceResources.of(
        instance_uuid=HOLDER,
        numa_topology=a_numa_topology(
            {"cpus": [0], "pcpus": [1], "host_cell": 0, "pinning": [1], "page_kb": 2048}
        ),
    )
    return a_report(
        host,
        **{
            "vcpus": 100,
            "pcpus": 100,
            "memory_mb": 2**20,
            "disk_gb": 1000,
            "cpu_info": '{"arch": "x86_64"}',
            "load_average": [0.5, 0.5, 0.5],
            "host_ip": "10.0.0.1",
            "architectures": ["x86_64"],
            "capabilities": {"nic": "fast"},
            "traits": ["CUSTOM_A"],
            "labels": ["rack1"],
            "metrics": {"cpu": 0.5, "net": 1.0},
            "numa_cells": [
                a_numa_cell(0, cpus=[8, 9], pcpus=[2, 3, 4, 5], page_counts={"2048": 512})
            ],
            "pci_pools": [a_pci_pool(count=100, tags={"x": "y"})],
            "providers": [a_provider("gpu0", VGPU=10), a_provider("gpu1", parent="gpu0", VGPU=10)],
            "inventories": [an_inventory("CUSTOM_A", 1000)],
            "instances": [HOLDER] if host == "bad" else [],
            "holdings": {HOLDER: {"": {"VCPU": 1}, "gpu0": {"VGPU": 1}}} if host == "bad" else {},
            "instance_resources": [resources] if host == "bad" else [],
        }
        | values,
    )


def of_flavor(**specs):
    return {"flavor": a_flavor(vcpus=2, extra_specs=specs)}


REQUESTS = (
    {},
    of_flavor(**{"resources:CUSTOM_A": "1", "trait:CUSTOM_A": "required"}),
    of_flavor(**{"resources1:VGPU": "1", "resources2:VGPU": "1", "group_policy": "isolate"}),
    of_flavor(**{"capabilities:nic": "fast", "capabilities:free_ram_mb": ">= 3"}),
    of_flavor(
        **{"capabilities:hypervisor_version": ">= 1", "capabilities:hypervisor_type": "fake"}
    ),
    {
        "image": an_image(
            properties={"hw_architecture": "x86_64", "img_hv_requested_version": ">=0"}
        )
    },
    {
        "hints": {
            "query": ['["and", [">=", "$free_disk_mb", 4], ["=", "$capabilities.nic", "fast"]]']
        }
    },
    {"hints": {"build_near_host_ip": ["10.0.0.7"]}},
    {"locality": [Locality.of(label="rack1", hard=True)]},
    {"pci_requests": [a_pci_request()]},
    of_flavor() | {"numa_topology": a_numa_topology({"pcpus": [0, 1]}, cpu_policy="dedicated")},
    of_flavor() | {"numa_topology": a_numa_topology({"cpus": [0, 1], "page_size": "large"})},
)


@pytest.fixture
def start(database, clock):
    """Start a scheduler with every plug-in."""

    def start():
        options = {"filters": FILTER_NAMES, "weighers": WEIGHER_NAMES, **OPTIONS}
        options |= {"isolated_hosts": [], "max_instances_per_host": 1000}
        driver = plugins.load_driver(conf.of({"scheduler": options}).scheduler)
        return SchedulerManager(database, driver=driver, clock=clock)

    return start


@pytest.fixture
def running(start):
    scheduler = start()
    scheduler.update_resource_stats(CONTEXT, report=says("good"))
    return scheduler


def serves(scheduler):
    """Return the hosts that requests of all kinds get, after they have been released."""
    chosen = {}
    for request in REQUESTS:
        uuid = a_uuid()
        ((selection,),) = scheduler.select_destinations(
            CONTEXT, request_spec=a_spec(**request), instance_uuids=[uuid], alternates=0
        )
        chosen[uuid] = selection.host
    scheduler.release_claims(CONTEXT, instance_uuids=list(chosen))
    assert {host.host for host in scheduler.list_hosts(CONTEXT)} >= {"good"}
    return set(chosen.values())


def paths_of(value, path=()):
    """Yield the way to everything in a value of lists and dictionaries."""
    yield path
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            yield from paths_of(value[key], (*path, key))


def with_wrong(value, path, wrong):
    """Return a copy of a value with something else at the end of a way."""
    if not path:
        return wrong
    made = copy.copy(value)
    made[path[0]] = with_wrong(value[path[0]], path[1:], wrong)
    return made


REPORTED = says("bad").obj_to_primitive()["roost_object.data"]
often = settings(
    max_examples=25,
    phases=[Phase.explicit, Phase.generate],
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@often
@given(path=st.sampled_from(list(paths_of(REPORTED))), wrong=st.sampled_from(WRONG))
def test_whatever_a_host_reports_others_get_hosts(start, running, clock, path, wrong):
    clock.pass_(1)
    data = with_wrong(REPORTED, path, wrong)
    primitive = says("bad").obj_to_primitive() | {"roost_object.data": data}
    try:
        report = HostReport.obj_from_primitive(primitive)
        report.reported_at = clock.now
        running.update_resource_stats(CONTEXT, report=report)
    except Exception:  # noqa: BLE001 - it is the host's own
        pass
    for scheduler in (running, start()):
        scheduler.update_resource_stats(CONTEXT, report=says("good", reported_at=clock.now))
        serves(scheduler)


JSON = ("profile", "inventories", "topology", "metrics", "used", "details", "node_load")
NUMBERS = ("io_operations", "failed_builds", "instances_used")


@pytest.fixture
def stored(database, running):
    """What is stored of a host; and change it."""
    running.update_resource_stats(CONTEXT, report=says("bad"))
    table = models.hosts
    is_it = table.c.host == "bad"
    with database.read() as session:
        row = session.execute(sa.select(table).where(is_it)).mappings().one()
    values = {name: row[name] for name in (*JSON, *NUMBERS)}
    values |= {name: json.loads(text) for name, text in values.items() if isinstance(text, str)}

    def store(name, value):
        now = {each: values[each] for each in (*JSON, *NUMBERS)} | {name: value}
        now |= {each: json.dumps(now[each]) for each in JSON if each != "used"}
        counters = {each: table.c[each] + 1 for each in ("generation", "described")}
        with database.begin() as session:
            session.execute(sa.update(table).where(is_it).values(**now, **counters))

    return values, store


@often
@given(data=st.data(), name=st.sampled_from((*JSON, *NUMBERS)))
def test_whatever_is_stored_of_a_host_others_get_hosts(start, running, stored, data, name):
    values, store = stored
    path = data.draw(st.sampled_from(list(paths_of(values[name]))))
    wrong = data.draw(st.sampled_from(WRONG))
    if name in NUMBERS and not (isinstance(wrong, int) and abs(wrong) < 2**63):
        return
    store(name, with_wrong(values[name], path, wrong))
    running.batches.learn(HostChanges.of("description", [2]))
    for scheduler in (running, start()):
        serves(scheduler)


@pytest.mark.parametrize(
    ("name", "path", "wrong"),
    [
        ("inventories", (0, 4, "VCPU", 0), 2**70),
        ("inventories", (0, 4, "VCPU", 5), float("nan")),
        ("inventories", (1, 4, "VGPU", 4), 0),
        ("inventories", (2, 1), "gpu1"),
        ("used", ("", "VCPU"), 2**70),
        ("profile", ("traits",), [7]),
        ("topology", (0, 0, "roost_object.data", "pcpus"), [10**12]),
        ("metrics", ("cpu",), "hot"),
    ],
)
def test_a_host_that_cannot_be_read_gets_nothing_and_is_named(
    start, running, stored, caplog, name, path, wrong
):
    values, store = stored
    store(name, with_wrong({**values, "used": {"": {"VCPU": 1}}}[name], path, wrong))
    with caplog.at_level(logging.WARNING):
        restarted = start()
        assert serves(restarted) == {"good"}
    (line,) = [each for each in caplog.messages if "cannot be read" in each]
    assert "host bad" in line
    unreadable = {host.host: host.unreadable for host in restarted.list_hosts(CONTEXT)}
    assert unreadable["good"] is None
    assert unreadable["bad"] in line


def test_a_host_can_be_read_again_after_its_next_report(start, running, stored, clock, caplog):
    _, store = stored
    store("profile", [])
    assert serves(running) == {"good"}
    clock.pass_(1)
    with caplog.at_level(logging.INFO):
        running.update_resource_stats(CONTEXT, report=says("bad", labels=[], reported_at=clock.now))
        serves(running)
    assert "what is stored of the host bad, node bad, can be read again" in caplog.messages
    assert [host.unreadable for host in running.list_hosts(CONTEXT)] == [None, None]


@pytest.mark.parametrize("wrong", [{"allocations": {"": {"VCPU": 2**70}}}, {"details": "{oops"}])
def test_a_claim_that_cannot_be_read_can_be_released(start, running, stored, database, wrong):
    uuid, claims, hosts = a_uuid(), models.claims, models.hosts
    spec = a_spec(requested_host="bad", pci_requests=[a_pci_request()])
    running.select_destinations(CONTEXT, request_spec=spec, instance_uuids=[uuid], alternates=0)
    with database.begin() as session:
        session.execute(sa.update(claims).values(**wrong))
        if "allocations" in wrong:
            session.execute(
                sa.update(hosts).where(hosts.c.host == "bad").values(used=wrong["allocations"])
            )
    restarted = start()
    assert serves(restarted) == {"good"}
    restarted.release_claims(CONTEXT, instance_uuids=[uuid])
    assert restarted.list_claims(CONTEXT) == []
    serves(restarted)


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"vcpus": 2**70}, "VCPU cannot have such a total"),
        ({"vcpus_ratio": float("nan")}, "VCPU cannot have the allocation ratio nan"),
        ({"inventories": [an_inventory("CUSTOM_A", 4, step_size=0)]}, "steps of 0"),
        ({"inventories": [an_inventory("CUSTOM_A", 4, reserved=5)]}, "5 of 4 reserved"),
        ({"inventories": [an_inventory("CUSTOM_A", 4)] * 2}, "two inventories of CUSTOM_A"),
        ({"labels": ["x" * 5000]}, "labels: 'xxxxxxxxxxxxxxxxxxxx'... is longer"),
        ({"metrics": {"cpu": float("inf")}}, "metrics: cpu: inf is no number"),
        ({"io_operations": -1}, "io_operations: it is negative"),
        ({"numa_cells": [a_numa_cell(cpus=[10**12])]}, "CPU|beyond"),
        ({"providers": [a_provider("a", parent="b"), a_provider("b", parent="a")]}, "parent of a"),
        ({"holdings": {a_uuid(): {"": {"VCPU": -1}}}}, "holdings: the amounts of"),
        ({"holdings": {"x" * 37: {}}}, "36 characters"),
    ],
)
def test_a_report_that_others_could_not_read_is_refused_in_words(running, values, words):
    with pytest.raises(exception.Invalid, match=f"the host bad, node bad, is refused: .*({words})"):
        running.update_resource_stats(CONTEXT, report=says("bad", **values))
    assert [host.host for host in running.list_hosts(CONTEXT)] == ["good"]


@pytest.mark.parametrize("amount", [2**63, 2**70])
def test_a_request_beyond_all_measure_is_refused_and_takes_nothing(running, amount):
    for request in (
        {"resources": {"CUSTOM_A": amount}},
        {"flavor": a_flavor(vcpus=amount)},
    ):
        with pytest.raises(exception.Invalid, match="Resources must be from 0 to"):
            running.select_destinations(
                CONTEXT, request_spec=a_spec(**request), instance_uuids=[a_uuid()], alternates=0
            )
    assert running.list_claims(CONTEXT) == []
    serves(running)


def test_a_group_beyond_all_measure_fits_nowhere(running):
    group = RequestGroup.of(name="a", resources={"VGPU": 2**70})
    with pytest.raises(exception.NoValidHost, match="VGPU at once are not allowed"):
        running.select_destinations(
            CONTEXT,
            request_spec=a_spec(resource_groups=[group]),
            instance_uuids=[a_uuid()],
            alternates=0,
        )
    serves(running)


def test_claims_beyond_all_measure_are_not_restored(running):
    holdings = {a_uuid(): {"": {"VCPU": 2**70}}}
    with pytest.raises(exception.Invalid, match="The claims are refused"):
        running.restore_claims(CONTEXT, host="good", node="good", holdings=holdings)


def test_a_change_that_cannot_be_counted_has_its_host_read_again(running, database):
    serves(running)
    usage = [1, 99, 2, 1, {"": {"VCPU": 2**70}}]
    message = {"usages": [usage], "stale": [], "removed": [], "heard": [], "cells": {}}
    running.hosts_changed(CONTEXT, sender="other", **message, aggregates=False)
    assert serves(running) == {"good"}


@pytest.mark.parametrize("ratio", ["1e300", "-1e300"])
def test_the_ratio_of_an_aggregate_stops_nobody(running, ratio):
    aggregate = an_aggregate("bad", cpu_allocation_ratio=ratio)
    running.update_resource_stats(CONTEXT, report=says("bad"))
    running.update_aggregates(CONTEXT, aggregates=[aggregate])
    serves(running)
