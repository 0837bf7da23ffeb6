"""What an audit makes of what the parts say."""

import datetime

import pytest

from roost import audit, states
from roost.audit.snapshot import LiveInstance
from roost.db.api.audits import MappingRow
from roost.db.types import utcnow
from tests.builders import CELL1, CELL2

ONE = "aaaaaaaa-0000-4000-8000-000000000001"
TWO = "aaaaaaaa-0000-4000-8000-000000000002"


def live(uuid=ONE, cell=CELL1, host="h1", vm_state=states.ACTIVE, task_state=None):
    return LiveInstance(uuid, cell, host, vm_state, task_state)


def mapping(cell=CELL1, **said):
    return MappingRow(cell, said.pop("queued", False), **said)


def healthy(**changes):
    """One active instance that everybody agrees about."""
    amounts = {"instances": 1, "cores": 1, "ram": 512, "server_groups": 0}
    values = {
        "instances": [live()],
        "mappings": {ONE: mapping()},
        "claims": {ONE: ["h1"]},
        "guests": {(CELL1, "h1"): {ONE}},
        "quota_used": {"p": amounts},
        "quota_counted": {"p": dict(amounts)},
    }
    return audit.Snapshot(**values | changes)


def kinds(snapshot):
    return [finding.kind for finding in audit.compare(snapshot)]


def test_a_healthy_deployment_has_no_findings():
    assert kinds(healthy()) == []


def away(task_state=None, vm_state=states.SOFT_DELETED):
    return [live(vm_state=vm_state, task_state=task_state)]


def test_a_server_that_is_put_away_needs_its_claim_and_its_mapping_says_so():
    assert kinds(healthy(instances=away(), mappings={ONE: mapping(put_away=True)})) == []
    without = healthy(instances=away(), mappings={ONE: mapping(put_away=True)}, claims={})
    assert kinds(without) == ["instances without claim"]


@pytest.mark.parametrize(
    ("vm_state", "said"), [(states.SOFT_DELETED, {}), (states.ACTIVE, {"put_away": True})]
)
def test_a_server_that_is_put_away_and_a_mapping_that_is_not_are_found(vm_state, said):
    found = audit.compare(
        healthy(instances=away(vm_state=vm_state), mappings={ONE: mapping(**said)})
    )
    assert [finding.kind for finding in found] == ["soft-deleted other than the mappings"]
    for more in ({"unsettled": True}, {"queued": True}):
        told = mapping(**said, **more)
        assert kinds(healthy(instances=away(vm_state=vm_state), mappings={ONE: told})) == []


@pytest.mark.parametrize(
    ("vm_state", "task_state", "put_away"),
    [
        (states.ACTIVE, states.SOFT_DELETING, True),
        (states.SOFT_DELETED, states.RESTORING, False),
    ],
)
def test_what_is_being_put_away_or_restored_sees_to_itself(vm_state, task_state, put_away):
    instances = away(task_state, vm_state)
    assert kinds(healthy(instances=instances, mappings={ONE: mapping(put_away=put_away)})) == []


AN_HOUR_AGO = utcnow() - datetime.timedelta(hours=1)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"claims": {}}, ["instances without claim"]),
        ({"claims": {ONE: ["h2"]}}, ["instances without claim"]),
        ({"claims": {ONE: ["h1"], TWO: ["h1"]}}, ["claims without instance"]),
        ({"claims": {ONE: ["h1", "h2"]}}, ["claims without instance"]),
        (
            {
                "miscounted": {
                    ("h1", "h1"): ({"VCPU": 2, "instances": 1}, {"VCPU": 1, "instances": 1})
                }
            },
            ["usage other than the claims"],
        ),
        (
            {"overdue": {ONE: AN_HOUR_AGO}},
            ["reservations overdue"],
        ),
        ({"quota_used": {}}, ["quota usage other than the mappings"]),
        ({"quota_counted": {}}, ["quota usage other than the mappings"]),
        ({"orphaned_ports": [(TWO, ONE)]}, ["ports without instance"]),
        ({"guests": {(CELL1, "h1"): {ONE, TWO}}}, ["guests without instance"]),
        ({"guests": {(CELL1, "h1"): set()}}, ["instances without guest"]),
        (
            {"guests": {(CELL1, "h1"): {ONE}, (CELL1, "h2"): {ONE}}},
            ["instances on two hosts"],
        ),
        (
            {"instances": [live(), live(cell=CELL2)]},
            ["instances in two cells", "instances without mapping"],
        ),
        ({"mappings": {}}, ["instances without mapping"]),
        ({"mappings": {ONE: mapping(cell=CELL2)}}, ["instances without mapping"]),
        ({"mappings": {ONE: mapping(cell=None)}}, ["instances without mapping"]),
        ({"mappings": {ONE: mapping(), TWO: mapping()}}, ["mappings without instance"]),
        ({"mappings": {ONE: mapping(), TWO: mapping(cell=None)}}, ["mappings without instance"]),
        ({"build_requests": {TWO: AN_HOUR_AGO}, "now": utcnow()}, ["build requests stuck"]),
    ],
)
def test_a_disagreement_is_found(changes, expected):
    assert sorted(set(kinds(healthy(**changes)))) == expected


def test_a_guest_on_another_host_than_its_instance_is_on_two_hosts():
    snapshot = healthy(guests={(CELL1, "h2"): {ONE}})

    (finding,) = audit.compare(snapshot)

    assert (finding.subject, finding.detail) == (ONE, "is on h1 and h2")


@pytest.mark.parametrize("vm_state", states.WITH_GUEST)
def test_what_rests_on_a_host_must_have_a_guest_there(vm_state):
    snapshot = healthy(instances=[live(vm_state=vm_state)], guests={(CELL1, "h1"): set()})

    assert kinds(snapshot) == ["instances without guest"]


def test_a_claim_left_by_a_failed_build_is_found():
    failed = live(host=None, vm_state=states.ERROR)

    assert kinds(healthy(instances=[failed], guests={})) == ["claims without instance"]


@pytest.mark.parametrize(
    "changes",
    [
        {"mappings": {ONE: mapping(), TWO: mapping(queued=True)}},
        {"claims": None},
        {"guests": {}},
    ],
)
def test_what_is_under_way_or_unknown_is_no_finding(changes):
    assert kinds(healthy(**changes)) == []


@pytest.mark.parametrize(
    "changes",
    [
        {"mappings": {ONE: mapping(), TWO: mapping(cell=None)}},
        {"claims": {ONE: ["h1"], TWO: ["h2"]}},
    ],
)
def test_a_fresh_build_request_is_no_finding(changes):
    assert kinds(healthy(build_requests={TWO: utcnow()}, now=utcnow(), **changes)) == []


def test_nothing_is_found_about_a_cell_that_could_not_be_read():
    snapshot = healthy(instances=[], unknown_cells={CELL1})

    assert kinds(snapshot) == []


class Looks:
    """A deployment that looks one way after the other, and in the end stays as it is."""

    def __init__(self, *snapshots, unchecked=()):
        self.snapshots = list(snapshots)
        self.unchecked = list(unchecked)
        self.asked = []

    def sweep(self):
        return audit.Suspects(uuids={ONE, TWO}, unchecked=self.unchecked)

    def look(self, suspects):
        self.asked.append(suspects.uuids)
        return self.snapshots.pop(0) if len(self.snapshots) > 1 else self.snapshots[0]


def test_only_what_is_seen_twice_counts():
    report = audit.audit(Looks(healthy(claims={}), healthy()), sleep=lambda _: None)

    assert report.findings == []


def test_the_second_look_is_at_what_was_found():
    looks = Looks(healthy(claims={}))

    audit.audit(looks, sleep=lambda _: None)

    assert looks.asked == [{ONE, TWO}, {ONE}]


def test_what_stays_is_reported_and_counted():
    slept = []

    report = audit.audit(Looks(healthy(claims={})), settle=3, sleep=slept.append)

    assert slept == [3]
    assert report.counts["instances without claim"] == 1
    assert sum(report.counts.values()) == 1
    assert list(report.counts) == list(audit.KINDS)


def test_what_could_not_be_looked_at_is_told_once():
    before = ["claims: away for 1 s", "claims: away for 2 s"]
    looks = Looks(healthy(unchecked=["claims: away for 3 s", "h1: away"]), unchecked=before)

    assert audit.audit(looks).unchecked == ["claims: away for 3 s", "h1: away"]
