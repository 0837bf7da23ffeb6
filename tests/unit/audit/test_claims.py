"""What audits make of claims, as the schedulers list them."""

import pytest

from roost import audit
from roost.audit.snapshot import Stream, miscounted
from roost.db.spans import UuidRange, spans
from roost.rpc.scheduler import RESERVATION_LIFETIME
from tests.builders import NOW, a_context
from tests.fakes.scheduler_claims import FakeLedger, a_claim, a_host

ONE, TWO = (f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in (1, 2))


def test_a_host_that_counts_its_claims_is_fine():
    ledger = FakeLedger(a_claim(ONE), a_claim(TWO), hosts=[a_host("h1", claims=2)])
    assert miscounted(ledger, a_context()) == {}


@pytest.mark.parametrize("claims", [[], [a_claim(ONE), a_claim(TWO)]], ids=["fewer", "more"])
def test_a_host_that_counts_something_else_is_found(claims):
    ledger = FakeLedger(*claims, hosts=[a_host("h1", claims=1)])
    used = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1}
    held = {name: len(claims) * amount for name, amount in used.items()} if claims else {}
    assert miscounted(ledger, a_context()) == {("h1", "h1"): (used, held)}


def test_nodes_of_one_host_are_told_apart():
    claims = [a_claim(ONE, node="n1"), a_claim(TWO, node="n2")]
    hosts = [a_host("h1", node="n1", claims=2), a_host("h1", node="n2", claims=0)]
    found = miscounted(FakeLedger(*claims, hosts=hosts), a_context())
    snapshot = audit.Snapshot(miscounted=found, claims={})
    (first, second) = audit.compare(snapshot)
    assert (first.kind, first.subject) == ("usage other than the claims", "h1 n1")
    assert first.detail == "counts as in use: DISK_GB 2 for 1, MEMORY_MB 1024 for 512, VCPU 2 for 1"
    assert second.subject == "h1 n2"


def test_a_reservation_is_overdue_when_its_lifetime_is_long_over():
    def overdue(seconds):
        claims = [a_claim(ONE, state="reserved", age=seconds), a_claim(TWO, age=seconds)]
        snapshot = audit.Snapshot()
        snapshot.note_claims(claims)
        return snapshot.overdue

    assert overdue(RESERVATION_LIFETIME + 30) == {}
    assert overdue(RESERVATION_LIFETIME + 90) == {ONE: NOW}


@pytest.mark.parametrize("count", [0, 10, 100, 40_000])
def test_claims_are_taken_span_by_span(count):
    uuids = [f"{number:08x}-0000-4000-8000-000000000000" for number in range(0, 2**32, 2**27)]
    stream = Stream(iter([a_claim(uuid) for uuid in uuids]))
    taken = [
        [claim["instance_uuid"] for claim in stream.take(span)] for span in spans(count, size=10)
    ]
    assert [uuid for some in taken for uuid in some] == uuids
    assert len(taken) >= count / 10


def test_spans_have_every_uuid_once():
    made = list(spans(1000, size=10))
    for uuid in (ONE, TWO, "00000000-0000-4000-8000-000000000000", "ffffffff-ffff-4fff-bfff-ff"):
        assert sum(span.has(uuid) for span in made) == 1
    assert UuidRange().has(ONE)
