"""Why no host was found, in words, numbers and near misses."""

import logging

import pytest

from roost import exception
from roost.objects.explanation import nearest_misses, plain, verdicts_of
from roost.scheduler import claims as claims_module
from roost.scheduler import explain
from roost.scheduler.engine import Decision, Verdict
from roost.scheduler.filters import Miss
from roost.scheduler.filters.requested import RequestedFilter
from tests.builders import CELL1, CELL2, a_flavor, a_group, a_spec, a_uuid
from tests.unit.scheduler.host_builders import a_request, a_row, an_engine, filters_of, hosts_of


def test_the_commonest_reason_comes_first():
    refusals = {"enabled": {"disabled": 2}, "ram": {"not enough memory": 4}}
    assert explain.sentence(refusals) == (
        "No valid host was found. 4 hosts: not enough memory; 2: disabled"
    )


def test_it_says_how_many_would_have_fitted():
    text = explain.sentence({"ram": {"not enough memory": 3}}, wanted=5, fitting=2)
    assert text == ("No valid host was found. There is room for 2 of 5; 3 hosts: not enough memory")


def test_without_counts_only_the_reasons_are_told():
    refusals = {"enabled": {"disabled": 2}, "ram": {"not enough memory": 4}}
    assert explain.uncounted(refusals) == "No valid host was found. Not enough memory; disabled"
    assert explain.uncounted(refusals, wanted=7) == (
        "No valid host was found. For all 7 servers: not enough memory; disabled"
    )


@pytest.mark.parametrize(
    ("others", "told"), [({}, "No host is available"), ({"ram": {"no room": 1}}, "No room")]
)
def test_users_read_of_no_cells_nor_of_hosts_that_are_left_out(others, told):
    asked = {"requested_cell": CELL1, "ignore_hosts": ["h1"], "ignore_cells": [CELL2]}
    hosts = hosts_of(a_row("h1", cell_uuid=CELL1), a_row("h2", cell_uuid=CELL2))
    reasons = {
        each.reason: int(each.hosts.sum())
        for each in RequestedFilter().refuse(a_request(**asked), hosts)
    }
    refusals = {"requested": reasons, **others}
    assert "in another cell than requested" in explain.sentence(refusals)
    assert explain.uncounted(refusals) == f"No valid host was found. {told}"


def refused():
    verdicts = [
        Verdict("enabled", 3, {"disabled": 1}),
        Verdict("requested", 2, {}),
        Verdict("ram", 2, {"not enough memory": 2}, Miss(1, "100 MiB free of the 512 requested")),
    ]
    hosts = hosts_of(a_row("h1"), a_row("h2"), a_row("h3"))
    return explain.no_valid_host(a_request(), Decision([], [], verdicts), hosts=hosts)


def test_the_error_carries_what_every_filter_said():
    error = refused()
    assert error.message == "No valid host was found. 2 hosts: not enough memory; 1: disabled"
    assert error.uncounted == "No valid host was found. Not enough memory; disabled"
    assert error.details["refusals"] == {
        "enabled": {"disabled": 1},
        "ram": {"not enough memory": 2},
    }
    assert error.details["asked"] == {"enabled": 3, "requested": 2, "ram": 2}
    assert error.details["nearest"]["ram"]["lacks"] == "100 MiB free of the 512 requested"


def test_what_the_error_carries_makes_verdicts_again():
    found = verdicts_of(refused().details)
    assert [(one.filter, one.asked) for one in found] == [
        ("enabled", 3),
        ("requested", 2),
        ("ram", 2),
    ]
    assert plain(found[2]) == {
        "filter": "ram",
        "asked": 2,
        "refused": 2,
        "reasons": {"not enough memory": 2},
        "nearest": {"host": "h2", "node": "h2", "lacks": "100 MiB free of the 512 requested"},
    }
    assert nearest_misses(found) == "ram on h2 (100 MiB free of the 512 requested)"


def refuse(manager, context, *instances, memory_mb=10**6):
    spec = a_spec(flavor=a_flavor(memory_mb=memory_mb))
    with pytest.raises(exception.NoValidHost):
        manager.select_destinations(
            context, request_spec=spec, instance_uuids=list(instances), alternates=0
        )
    return spec.request_uuid


def test_a_refusal_is_one_line_of_the_log(manager, context, report, caplog):
    report("h1", "h2")
    caplog.set_level(logging.INFO, logger=claims_module.__name__)
    one, two = a_uuid(), a_uuid()
    refuse(manager, context, one)
    refuse(manager, context, one, two)
    why = (
        "No valid host was found. 2 hosts: not enough memory;"
        " nearest: ram on h1 (16384 MiB free of the 1000000 requested)"
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"[instance: {one}] not placed: {why}",
        f"[instance: {one}] not placed, nor 1 more: {why}",
    ]


def test_a_dry_run_says_the_same_as_a_refusal(manager, context, report):
    report("h1", "h2")
    spec = a_spec(flavor=a_flavor(memory_mb=10**6))
    with pytest.raises(exception.NoValidHost) as refused:
        manager.select_destinations(
            context, request_spec=spec, instance_uuids=[a_uuid()], alternates=0
        )
    explained = manager.explain(context, request_spec=spec, instances=1)
    assert explained.sentence == refused.value.message
    assert explained.verdicts == verdicts_of(refused.value.details)


def nearest(request, *rows, filters):
    """Return, of a single filter, the host that came closest and what it lacks."""
    hosts = hosts_of(*rows)
    (verdict,) = an_engine(filters).judge(request, hosts)
    return hosts.name("host", verdict.closest.row), verdict.closest.lacks


def test_of_hosts_with_too_many_members_the_one_with_the_fewest_is_nearest():
    group = a_group(policy="anti-affinity")
    request = a_request(group=group, group_counts={0: 3, 1: 2})
    filters = filters_of("server_group_anti_affinity")
    found = nearest(request, a_row("h1"), a_row("h2"), filters=filters)
    assert found == ("h2", "members of the group there: 2")
