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


def test_nothing_is_found_where_all_is_well():
    world = {
        "servers": [server(), server("b", delete_asked=110.0, gone=111.0)],
        "listed": [listed()],
        "guests": {HOST: {"id-a": "1"}},
    }
    assert found(**world) == []


def test_a_server_that_was_accepted_and_is_gone_is_lost():
    assert found(servers=[server(gone=120.0)]) == [("lost", "a")]


def test_a_server_that_was_accepted_and_never_seen_is_lost():
    assert found(servers=[server(ids=[], state="")]) == [("lost", "a")]


def test_a_server_that_is_still_being_built_is_lost():
    assert found(servers=[server(state="BUILD", settled=None)]) == [("lost", "a")]


def test_a_server_that_was_refused_need_not_be_there():
    assert found(servers=[server(answer="refused", ids=[], state="")]) == []


def test_a_server_that_was_refused_and_is_there_is_doubled():
    refused = server(answer="refused")
    seen = found(servers=[refused], listed=[listed()], guests={HOST: {"id-a": "1"}})
    assert seen == [("doubled", "id-a")]


def test_a_server_whose_answer_was_lost_counts_if_it_is_there():
    assert found(servers=[server(answer="unknown", ids=[], state="")]) == []
    assert found(servers=[server(answer="unknown", gone=120.0)]) == [("lost", "a")]


def test_a_server_that_was_deleted_and_is_there_is_leaked():
    assert found(servers=[server(delete_asked=110.0)]) == [("leaked", "a")]


def test_a_server_with_two_ids_is_doubled():
    assert found(servers=[server(ids=["one", "two"])]) == [("doubled", "a")]


def test_a_guest_on_two_hosts_is_doubled():
    guests = {HOST: {"id-a": "1"}, "cell2-host1": {"id-a": "1"}}
    assert found(servers=[server()], listed=[listed()], guests=guests) == [("doubled", "id-a")]


@pytest.mark.parametrize("guests", [{}, {"id-a": "0"}])
def test_an_active_server_without_a_guest_that_runs_is_lost(guests):
    seen = found(servers=[server()], listed=[listed()], guests={HOST: guests})
    assert seen == [("lost", "id-a")]


def test_a_guest_without_a_server_is_leaked():
    assert found(guests={HOST: {"x": "1"}}) == [("leaked", "x")]


def test_the_guest_of_a_server_in_error_is_leaked():
    failed = server(state="ERROR", fault="no luck")
    world = {"servers": [failed], "listed": [listed(status="ERROR")], "faults": [KILLED]}
    assert found(**world, guests={HOST: {"id-a": "0"}}) == [("leaked", "id-a")]


def test_a_server_that_nobody_asked_for_is_leaked():
    seen = found(listed=[listed("ballast")], guests={HOST: {"id-ballast": "1"}})
    assert seen == [("leaked", "id-ballast")]


@pytest.mark.parametrize(
    ("kind", "means"),
    [
        ("instances on two hosts", "doubled"),
        ("instances without guest", "lost"),
        ("claims without instance", "leaked"),
        ("something new", "leaked"),
    ],
)
def test_what_an_audit_finds_is_of_a_kind(kind, means):
    assert found(findings=[Finding(kind, "x", "so")]) == [(means, "x")]


def test_what_an_audit_could_not_look_at_is_unexplained():
    assert found(unchecked=["cell cell1"]) == [("unexplained", "audit")]


def test_messages_that_nobody_takes_are_leaked():
    assert found(queued={"cell1/compute": 3}) == [("leaked", "cell1/compute")]


def test_an_error_with_a_reason_while_something_was_broken_is_explained():
    failed = server(state="ERROR", fault="No host could take it.")
    assert found(servers=[failed], faults=[KILLED]) == []


def test_an_error_while_nothing_was_broken_is_unexplained():
    failed = server(state="ERROR", fault="No host could take it.")
    later = Made(Fault(1, 0, 0, "kill", "api"), began=900.0, healed=905.0)
    assert found(servers=[failed], faults=[later]) == [("unexplained", "a")]


def test_an_error_without_a_reason_is_unexplained():
    assert found(servers=[server(state="ERROR")], faults=[KILLED]) == [("unexplained", "a")]


def test_an_accident_is_explained_by_a_driver_that_crashed_only():
    failed = server(state="ERROR", fault="Unexpected failure on cell1-host1.")
    crash = Made(Fault(2, 0, 0, "driver", HOST, "crash"), began=100.0, healed=130.0)
    assert found(servers=[failed], faults=[KILLED]) == [("unexplained", "a")]
    assert found(servers=[failed], faults=[crash]) == []


def test_the_rule_of_a_group_explains_an_error():
    failed = server(state="ERROR", fault="No host could take it.", policy="anti-affinity")
    assert found(servers=[failed]) == []


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


def test_a_server_that_was_gone_and_there_again_is_unexplained():
    assert found(servers=[server(flickers=1)]) == [("unexplained", "a")]


def test_one_that_is_deleted_when_its_cell_is_back_may_be_seen_again():
    assert found(servers=[server(flickers=1, delete_asked=110.0, gone=140.0)]) == []


def test_an_answer_that_tells_its_client_nothing_is_unexplained():
    assert found(failures=[failure()], faults=[KILLED]) == [("unexplained", "api")]


def test_an_answer_that_says_come_again_is_explained():
    assert found(failures=[failure("503", clean=True)]) == []


def test_silence_is_explained_when_the_api_was_dead():
    silent = failure("no answer", clean=True)
    dead = Made(Fault(1, 0, 0, "kill", "api"), began=95.0, healed=99.0)
    assert found(failures=[silent], faults=[dead]) == []
    assert found(failures=[silent], faults=[KILLED]) == [("unexplained", "api")]


def test_lateness_is_explained_by_anything_that_is_broken():
    late = failure("late", clean=True)
    assert found(failures=[late], faults=[KILLED]) == []
    assert found(failures=[late]) == [("unexplained", "api")]


def test_a_daemon_that_ended_by_itself_is_unexplained():
    assert found(deaths=[Death("scheduler", 100.0, "oh")]) == [("unexplained", "scheduler")]


def test_a_daemon_that_does_not_answer_is_unexplained():
    assert found(silent=["scheduler"]) == [("unexplained", "scheduler")]


def test_a_fault_that_could_not_be_healed_is_unexplained():
    made = Made(Fault(1, 0, 0, "kill", "api"), 1.0, 2.0, failed="heal: no")
    assert found(faults=[made]) == [("unexplained", "kill api")]


def test_what_is_left_when_all_was_deleted_is_leaked():
    assert found(left=["a guest"]) == [("leaked", "when all was deleted")]


def test_reasons_are_counted_without_names_and_numbers():
    servers = [
        server(name, state="ERROR", fault=f"cell1-host{n} failed") for n, name in enumerate("ab")
    ]
    assert verdict.reasons(servers) == {"cellN-hostN failed": 2}
