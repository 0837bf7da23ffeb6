"""Commits of schedulers whose answers are lost: each order is carried out once."""

import pytest

from tests import claim_consistency
from tests.builders import a_report, a_selection, a_spec, a_uuid, taken
from tests.fakes.lost_commits import lost_answers


@pytest.fixture(params=[True, False], ids=["committed", "not-committed"])
def forgetful(request, database):
    """Let every other commit not be heard of, committed or not."""
    return lambda: lost_answers(database, committed=request.param)


def held(manager, context):
    return {claim["instance_uuid"]: claim["host"] for claim in manager.list_claims(context)}


def select(manager, context, *uuids):
    return manager.select_destinations(
        context, request_spec=a_spec(), instance_uuids=list(uuids), alternates=1
    )


def test_an_instance_is_claimed_for_once(manager, context, database, forgetful):
    with forgetful():
        for host in ("h1", "h2"):
            report(manager, context, host)
        uuids = [a_uuid(), a_uuid()]
        chosen = select(manager, context, *uuids)
        assert select(manager, context, *uuids)[0][0].host == chosen[0][0].host
    assert held(manager, context) == {
        uuid: selections[0].host for uuid, selections in zip(uuids, chosen, strict=True)
    }
    claim_consistency.assert_right(database)


def test_a_claim_moves_and_goes_once(manager, context, database, forgetful):
    with forgetful():
        for host in ("h1", "h2"):
            report(manager, context, host)
        uuid = a_uuid()
        ((chosen, _other),) = select(manager, context, uuid)
        other = "h2" if chosen.host == "h1" else "h1"
        to = a_selection(other)
        manager.move_claim(context, instance_uuid=uuid, request_spec=a_spec(), to=to)
        assert held(manager, context) == {uuid: other}
        claim_consistency.assert_right(database)
        manager.release_claims(context, instance_uuids=[uuid])
    assert held(manager, context) == {}
    claim_consistency.assert_right(database)


def test_claims_are_restored_once(manager, context, database, forgetful):
    with forgetful():
        report(manager, context, "h1")
        uuid = a_uuid()
        holdings = {uuid: taken(vcpus=1, memory_mb=512, disk_gb=10)}
        manager.restore_claims(context, host="h1", node="h1", holdings=holdings)
    assert held(manager, context) == {uuid: "h1"}
    claim_consistency.assert_right(database)


def report(manager, context, host):
    manager.update_resource_stats(context, report=a_report(host))
