"""What is to be done about claims, by what the parts say."""

import pytest

from roost import audit, states
from roost.audit.repairs import END, LEAVE, MAP, RELEASE, RESTORE
from roost.audit.snapshot import LiveInstance
from roost.db.api.audits import MappingRow
from roost.db.types import utcnow
from roost.objects import InstanceMapping
from tests.builders import CELL1

ONE, TWO = (f"aaaaaaaa-0000-4000-8000-00000000000{number}" for number in (1, 2))


def live(uuid=ONE, host="h1", vm_state=states.ACTIVE, task_state=None):
    return LiveInstance(uuid, CELL1, host, vm_state, task_state)


PLACEMENT = ["instances without claim", "claims without instance", "reservations overdue"]


def told(*, kinds=PLACEMENT, **values):
    snapshot = audit.Snapshot(**{"instances": [live()], "claims": {ONE: ["h1"]}} | values)
    repairs = audit.plan([one for one in audit.compare(snapshot) if one.kind in kinds], snapshot)
    return [(repair.subject, repair.action, repair.host) for repair in repairs]


def test_where_all_agree_nothing_is_to_be_done():
    assert told() == []


def test_a_claim_whose_instance_does_not_live_goes():
    assert told(claims={ONE: ["h1"], TWO: ["h2"]}) == [(TWO, RELEASE, "h2")]


def test_of_two_claims_of_an_instance_that_does_not_move_the_one_elsewhere_goes():
    assert told(claims={ONE: ["h1", "h2"]}) == [(ONE, RELEASE, "h2")]
    moving = live(task_state=states.REBUILDING)
    assert told(instances=[moving], claims={ONE: ["h1", "h2"]}) == []


def test_a_claim_of_an_instance_that_no_host_took_goes():
    failed = live(host=None, vm_state=states.ERROR)
    assert told(instances=[failed]) == [(ONE, RELEASE, "h1")]


def test_an_instance_without_claim_gets_one_where_it_is():
    assert told(claims={}) == [(ONE, RESTORE, "h1")]


def test_a_claim_elsewhere_goes_before_the_right_one_is_made():
    assert told(claims={ONE: ["h2"]}) == [(ONE, RELEASE, "h2"), (ONE, RESTORE, "h1")]


@pytest.mark.parametrize("task", [states.SPAWNING, states.DELETING])
@pytest.mark.parametrize("claims", [{}, {ONE: ["h2"]}], ids=["none", "elsewhere"])
def test_what_is_under_way_is_left_alone(task, claims):
    building = live(vm_state=states.BUILDING, task_state=task)
    assert told(instances=[building], claims=claims) == [(ONE, LEAVE, "h1")]


def test_a_wish_keeps_its_claim():
    assert told(claims={ONE: ["h1"], TWO: ["h1"]}, build_requests={TWO: utcnow()}) == []


def test_nothing_is_done_about_a_cell_that_could_not_be_read():
    mapping = InstanceMapping.of(
        instance_uuid=ONE,
        request_uuid=TWO,
        cell_uuid=CELL1,
        project_id="p",
        user_id="u",
        vcpus=1,
        memory_mb=512,
        queued_for_delete=False,
        created_at=utcnow(),
    )
    assert told(instances=[], mappings={ONE: mapping}, unknown_cells={CELL1}) == []


def test_without_the_schedulers_nothing_can_be_said():
    assert told(claims=None) == []


@pytest.mark.parametrize(("deleted", "action"), [(set(), MAP), ({ONE}, END)])
@pytest.mark.parametrize("one", [live(), live(host=None, vm_state=states.ERROR)])
def test_what_nobody_has_is_mapped_unless_its_user_deleted_it(one, deleted, action):
    """Rows of a backup come back that their users have deleted since."""
    found = told(kinds=["instances without mapping"], instances=[one], deleted=deleted)
    assert [done for _, done, _ in found] == [action]


def test_what_is_mapped_to_a_cell_that_cannot_be_read_is_left():
    mapping = MappingRow(cell_uuid=TWO, queued_for_delete=False)
    found = told(kinds=["instances without mapping"], mappings={ONE: mapping}, unknown_cells={TWO})
    assert [done for _, done, _ in found] == [LEAVE]
