"""Hosts, claims, their repair, and the end of a host."""

import pytest
import sqlalchemy as sa

from roost import states
from roost.cmd.manage.deployment import Deployment
from roost.db.api import aggregates, build_requests, cells, instance_mappings
from roost.db.cell import instances, services
from roost.db.cell import models as cell_models
from tests.builders import (
    NOW,
    a_flavor,
    a_numa_topology,
    a_provider,
    a_spec,
    a_wish,
    an_instance,
    taken,
)
from tests.fakes.scheduler_claims import FakeLedger, a_claim, a_host

ONE, TWO = (f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in (1, 2))


@pytest.fixture
def schedulers(monkeypatch):
    ledger = FakeLedger()
    monkeypatch.setattr(Deployment, "scheduler", ledger)
    return ledger


@pytest.fixture
def placement(manage, cell1, schedulers):
    def run(*arguments, code=0):
        return manage("placement", *arguments, code=code)

    return run


@pytest.fixture
def live(databases):
    """Put an instance into cell1 that its host has built."""

    def make(uuid, host="h1", **values):
        values = {"vm_state": states.ACTIVE, "task_state": None} | values
        with databases.cell1.begin() as session:
            instances.create(session, an_instance(uuid=uuid, host=host, node=host, **values))

    return make


def test_what_collectors_no_longer_confirm_is_listed_with_a_warning(placement, schedulers):
    since = "2026-01-02T03:04:05+00:00"
    schedulers.hosts = [
        a_host("h1", claims=0, stale_collectors={"mdev": since, "licences": ""}),
        a_host("h2", claims=0, stale_collectors={"mdev": since}),
    ]
    found = placement("inventory", "--host", "h1", "--json")
    assert found.err.splitlines() == [
        f"h1: the collector mdev does not answer, since {since}; what it found then is listed",
        "h1: the collector licences does not answer, and never did",
    ]
    assert {row["host"] for row in found.json} == {"h1"}
    assert "h2: the collector mdev" in placement("inventory").err


def test_hosts_are_listed_with_what_is_claimed_of_them(placement, schedulers, cell1, databases):
    schedulers.hosts = [
        a_host("h1", claims=2, cell_uuid=cell1, vcpus_ratio=4.0, memory_mb_reserved=384),
        a_host("h2", claims=0, cell_uuid=cell1, up=False, enabled=False, pcpus=6),
    ]
    with databases.api.begin() as session:
        west = aggregates.create(session, "a", metadata={"availability_zone": "west"})
        aggregates.add_host(session, west.id, "h2")
    first, second = placement("hosts", "--json").json
    assert (first["host"], first["cell"], first["zone"]) == ("h1", "cell1", "nova")
    assert (first["vcpus_used"], first["vcpus_total"]) == (2, 32)
    assert (first["memory_mb_used"], first["memory_mb_total"]) == (1024, 16000)
    assert (second["up"], second["enabled"], second["zone"]) == (False, False, "west")
    assert second["pcpus_total"] == 6
    assert "2 of 32" in placement("hosts").out


def test_claims_are_listed_of_all_hosts_or_one(placement, schedulers):
    schedulers.claims = [a_claim(ONE, "h1"), a_claim(TWO, "h2", state="reserved")]
    assert [row["instance_uuid"] for row in placement("claims", "--json").json] == [ONE, TWO]
    (row,) = placement("claims", "--host", "h2", "--json").json
    assert (row["instance_uuid"], row["state"]) == (TWO, "reserved")
    assert row["allocations"] == {"": {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}}
    schedulers.claims[0]["allocations"]["gpu0"] = {"VGPU": 1}
    shown = placement("claims").out
    for text in ("2026-01-02 03:04:05", "MEMORY_MB 512", "VGPU 1 of gpu0"):
        assert text in shown


def test_usage_is_in_percent_of_what_may_be_claimed(placement, schedulers):
    gpu = a_provider("gpu0", VGPU=4)
    gpu.inventories[0].used = 5
    half = a_host("h1", claims=2, vcpus=2, vcpus_ratio=4.0, vcpus_reserved=1, providers=[gpu])
    schedulers.hosts = [half, a_host("h2", claims=0, vcpus=4, vcpus_reserved=4)]
    found = placement("usage", "--host", "h1", "--json").json
    rows = {(row["provider"], row["resource_class"]): row for row in found}
    assert list(rows) == [("", "VCPU"), ("", "MEMORY_MB"), ("", "DISK_GB"), ("gpu0", "VGPU")]
    cpus = rows["", "VCPU"]
    assert (cpus["used"], cpus["capacity"], cpus["percent"]) == (2, 4, 50)
    assert (cpus["total"], cpus["reserved"], cpus["allocation_ratio"]) == (2, 1, 4.0)
    gpus = rows["gpu0", "VGPU"]
    assert (gpus["percent"], gpus["overcommitted"]) == (125, True)
    assert not cpus["overcommitted"]
    of_class = placement("usage", "--class", "VCPU", "--json").json
    assert [(row["host"], row["percent"]) for row in of_class] == [("h1", 50), ("h2", None)]


@pytest.mark.parametrize("command", ["hosts", "claims", "inventory", "usage", "traits"])
def test_without_a_scheduler_there_is_a_clear_word(placement, schedulers, command):
    schedulers.away = True
    assert "no scheduler answers" in placement(command, code=1).err


def test_an_audit_repairs_claims_and_shows_before_what_it_would_do(manage, schedulers):
    schedulers.claims = [a_claim(ONE, "h1"), a_claim(TWO, "h2")]
    audit = ("audit", "--settle", 0)
    shown = manage(*audit, "--repair", "--dry-run", "--json", code=1).json["repairs"]
    assert [(row["subject"], row["host"], row["what"]) for row in shown] == [
        (ONE, "h1", "would release claim"),
        (TWO, "h2", "would release claim"),
    ]
    assert schedulers.done == []
    assert "has a claim on h1, but does not exist" in manage(*audit, "--verbose", code=1).out
    manage(*audit, "--repair")
    assert schedulers.done == [("release", "h1", [ONE]), ("release", "h2", [TWO])]


def test_an_instance_without_claim_gets_what_it_takes(manage, cell1, schedulers, live):
    live(ONE, flavor=a_flavor(vcpus=4, memory_mb=2048, root_gb=5, ephemeral_gb=1, swap=100))
    topology = a_numa_topology({"cpus": [2], "pcpus": [0, 1]})
    live(TWO, flavor=a_flavor(vcpus=3), numa_topology=topology)
    schedulers.hosts = [a_host("h1", claims=0)]
    manage("audit", "--settle", 0, "--repair", code=1)  # they have no mapping, either
    holdings = {
        ONE: taken(vcpus=4, memory_mb=2048, disk_gb=7),
        TWO: taken(vcpus=1, pcpus=2, memory_mb=512, disk_gb=1),
    }
    assert schedulers.done == [("restore", "h1", holdings)]


def test_claims_of_a_cell_out_of_reach_stay(manage, schedulers, databases, cell1):
    asked = a_spec()
    build_request = a_wish(asked)
    with databases.api.begin() as session:
        build_requests.create(session, [build_request], spec=asked)
        build_requests.forget(session, build_request.instance_uuid)
        instance_mappings.map_to_cell(session, build_request.instance_uuid, cell1)
        cells.update(session, cell1, database_url="sqlite:////nowhere/cell1.sqlite")
    schedulers.claims = [a_claim(build_request.instance_uuid)]
    told = manage("audit", "--settle", 0, "--repair", code=1)
    assert "could not check cell cell1" in told.err
    assert schedulers.done == []


@pytest.fixture
def gone(databases, cell1, schedulers):
    """A host h1 of cell1 whose daemon has long been silent; it is in an aggregate."""
    with databases.api.begin() as session:
        cells.map_host(session, "h1", cell1)
        west = aggregates.create(session, "west", metadata={})
        aggregates.add_host(session, west.id, "h1")
    with databases.cell1.begin() as session:
        for binary in ("roost-compute", "roost-cell-conductor"):
            services.report(session, host="h1", binary=binary)
        session.execute(sa.update(cell_models.services).values(last_seen_up=NOW))
    schedulers.hosts = [a_host("h1", claims=0), a_host("h2", claims=0)]


def known_services(databases):
    with databases.cell1.read() as session:
        return [service.binary for service in services.list_services(session)]


@pytest.mark.parametrize("group", ["cell", "placement"])
def test_a_removed_host_is_gone_everywhere(manage, gone, schedulers, databases, group):
    told = manage(group, "remove-host", "h1", "--json").json
    assert told == {
        "host": "h1",
        "removed_from": [
            "the schedulers",
            "the services of cell cell1",
            "the aggregate west",
            "the mapped hosts",
        ],
    }
    assert [report.host for report in schedulers.hosts] == ["h2"]
    assert known_services(databases) == ["roost-cell-conductor"]
    assert manage("cell", "list-hosts", "--json").json == []
    assert [(one.name, one.hosts) for one in schedulers.aggregates] == [("west", [])]


def test_a_host_with_instances_stays(placement, gone, schedulers, live, databases):
    live(ONE, "h1")
    assert "still has instances" in placement("remove-host", "h1", code=1).err
    assert [report.host for report in schedulers.hosts] == ["h1", "h2"]
    assert len(known_services(databases)) == 2


def test_a_host_that_would_report_again_stays_unless_forced(placement, gone, databases):
    with databases.cell1.begin() as session:
        services.report(session, host="h1", binary="roost-compute")
    assert "stop it" in placement("remove-host", "h1", code=1).err
    assert "removed the host h1" in placement("remove-host", "h1", "--force").out


def test_a_removal_that_was_cut_short_is_ended_by_another(placement, gone, schedulers, databases):
    with databases.api.begin() as session:
        cells.unmap_host(session, "h1")
    schedulers.hosts = [a_host("h2", claims=0)]
    assert placement("remove-host", "h1", "--json").json["removed_from"] == [
        "the services of cell cell1",
        "the aggregate west",
    ]
    assert "there is no host 'h1'" in placement("remove-host", "h1", code=1).err
