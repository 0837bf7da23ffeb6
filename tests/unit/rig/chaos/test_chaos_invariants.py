"""What is lost, doubled, leaked or unexplained, told from made-up worlds."""

import pytest

from roost.audit import Finding
from roost.rig.chaos import verdict
from roost.rig.chaos.answers import FailedRequest
from roost.rig.chaos.breaker import Made
from roost.rig.chaos.keeper import Death
from roost.rig.chaos.schedule import Fault
from roost.rig.chaos.verdict import Observations
from roost.rig.chaos.watch import StormServer
from roost.rig.chaos.wishes import StormRequest

HOST = "cell1-host1"
KILLED = Made(Fault(1, 100, 5, "kill", "scheduler"), began=100.0, healed=105.0)


def server(name="a", **values):
    """A server that is ACTIVE and stays, unless the values say otherwise."""
    wish = StormRequest(0, name, 1, values.pop("policy", ""), "stay", 0)
    known = {
        "answer": "accepted", "ids": [f"id-{name}"], "state": "ACTIVE", "host": HOST,
        "settled": 101.0,
    }  # fmt: skip
    return StormServer(name, wish, 100.0, **(known | values))


def listed(name="a", status="ACTIVE", host=HOST):
    return {"id": f"id-{name}", "name": name, "status": status, "OS-EXT-SRV-ATTR:host": host}


def found(**seen):
    return [(item.kind, item.subject) for item in verdict.judge(Observations(**seen))]


def failure(outcome="500", *, clean=False, began=100.0, ended=101.0):
    return FailedRequest("POST servers", outcome, clean, began, ended, "oh")


IN_ERROR = {"state": "ERROR", "fault": "No host could take it."}
CRASHED = server(state="ERROR", fault="Unexpected failure on cell1-host1.")
RUNS = {HOST: {"id-a": "1"}}
LATER = Made(Fault(1, 0, 0, "kill", "api"), began=900.0, healed=905.0)
CRASH = Made(Fault(2, 0, 0, "driver", HOST, "crash"), began=100.0, healed=130.0)
DEAD = Made(Fault(1, 0, 0, "kill", "api"), began=95.0, healed=99.0)
UNHEALED = Made(Fault(1, 0, 0, "kill", "api"), 1.0, 2.0, failed="heal: no")
SILENT, LATE = failure("no answer", clean=True), failure("late", clean=True)


@pytest.mark.parametrize(
    "seen",
    [
        {
            "servers": [server(), server("b", delete_asked=110.0, gone=111.0)],
            "listed": [listed()],
            "guests": RUNS,
        },
        {"servers": [server(answer="refused", ids=[], state="")]},
        {"servers": [server(answer="unknown", ids=[], state="")]},
        {"servers": [server(**IN_ERROR)], "faults": [KILLED]},
        {"servers": [CRASHED], "faults": [CRASH]},
        {"servers": [server(**IN_ERROR, policy="anti-affinity")]},
        {"servers": [server(flickers=1, delete_asked=110.0, gone=140.0)]},
        {"failures": [failure("503", clean=True)]},
        {"failures": [SILENT], "faults": [DEAD]},
        {"failures": [LATE], "faults": [KILLED]},
    ],
)
def test_what_is_well_or_explained_is_no_finding(seen):
    assert found(**seen) == []


@pytest.mark.parametrize(
    ("kind", "subject", "seen"),
    [
        # servers that were accepted, and are gone, never seen, or still being built
        ("lost", "a", {"servers": [server(gone=120.0)]}),
        ("lost", "a", {"servers": [server(ids=[], state="")]}),
        ("lost", "a", {"servers": [server(state="BUILD", settled=None)]}),
        ("lost", "a", {"servers": [server(answer="unknown", gone=120.0)]}),
        # servers that are ACTIVE, without a guest that runs
        ("lost", "id-a", {"servers": [server()], "listed": [listed()], "guests": {HOST: {}}}),
        (
            "lost",
            "id-a",
            {"servers": [server()], "listed": [listed()], "guests": {HOST: {"id-a": "0"}}},
        ),
        # there, though refused; under two ids; with guests on two hosts
        (
            "doubled",
            "id-a",
            {"servers": [server(answer="refused")], "listed": [listed()], "guests": RUNS},
        ),
        ("doubled", "a", {"servers": [server(ids=["one", "two"])]}),
        (
            "doubled",
            "id-a",
            {
                "servers": [server()],
                "listed": [listed()],
                "guests": RUNS | {"cell2-host1": {"id-a": "1"}},
            },
        ),
        # there, though deleted; guests of no server, or of one in ERROR; what nobody asked for
        ("leaked", "a", {"servers": [server(delete_asked=110.0)]}),
        ("leaked", "x", {"guests": {HOST: {"x": "1"}}}),
        (
            "leaked",
            "id-a",
            {
                "servers": [server(state="ERROR", fault="no luck")],
                "listed": [listed(status="ERROR")],
                "faults": [KILLED],
                "guests": {HOST: {"id-a": "0"}},
            },
        ),
        (
            "leaked",
            "id-ballast",
            {"listed": [listed("ballast")], "guests": {HOST: {"id-ballast": "1"}}},
        ),
        ("leaked", "cell1/compute", {"queued": {"cell1/compute": 3}}),
        ("leaked", "when all was deleted", {"left": ["a guest"]}),
        # what an audit finds, and what it could not look at
        ("doubled", "x", {"findings": [Finding("instances on two hosts", "x", "so")]}),
        ("lost", "x", {"findings": [Finding("instances without guest", "x", "so")]}),
        ("leaked", "x", {"findings": [Finding("claims without instance", "x", "so")]}),
        ("leaked", "x", {"findings": [Finding("something new", "x", "so")]}),
        ("unexplained", "audit", {"unchecked": ["cell cell1"]}),
        # errors without a reason, or while nothing was broken that would explain them
        ("unexplained", "a", {"servers": [server(**IN_ERROR)], "faults": [LATER]}),
        ("unexplained", "a", {"servers": [server(state="ERROR")], "faults": [KILLED]}),
        ("unexplained", "a", {"servers": [CRASHED], "faults": [KILLED]}),
        ("unexplained", "a", {"servers": [server(flickers=1)]}),
        # answers that tell clients nothing; silence and lateness of what was whole
        ("unexplained", "api", {"failures": [failure()], "faults": [KILLED]}),
        ("unexplained", "api", {"failures": [SILENT], "faults": [KILLED]}),
        ("unexplained", "api", {"failures": [LATE]}),
        # daemons that ended by themselves or do not answer; what could not be healed
        ("unexplained", "scheduler", {"deaths": [Death("scheduler", 100.0, "oh")]}),
        ("unexplained", "scheduler", {"silent": ["scheduler"]}),
        ("unexplained", "kill api", {"faults": [UNHEALED]}),
    ],
)
def test_what_should_not_be_is_found(kind, subject, seen):
    assert found(**seen) == [(kind, subject)]


@pytest.mark.parametrize(
    ("policy", "hosts", "well"),
    [
        ("anti-affinity", ["h1", "h2"], True),
        ("anti-affinity", ["h1", "h1"], False),
        ("affinity", ["h1", "h1"], True),
        ("affinity", ["h1", "h2"], False),
        ("soft-anti-affinity", ["h1", "h1"], True),
    ],
)
def test_the_rule_of_a_group_holds(policy, hosts, well):
    servers = [server(host, host=host, group="g", policy=policy) for host in hosts]
    assert found(servers=servers) == ([] if well else [("unexplained", "g")])


def test_reasons_are_counted_without_names_and_numbers():
    servers = [
        server(name, state="ERROR", fault=f"cell1-host{n} failed") for n, name in enumerate("ab")
    ]
    assert verdict.reasons(servers) == {"cellN-hostN failed": 2}
