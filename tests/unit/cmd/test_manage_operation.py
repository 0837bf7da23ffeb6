"""What an operation waits for, as roost-manage says it."""

import datetime

import pytest

from roost.db.cell import instances, services
from roost.db.types import utcnow
from roost.states import POWERING_OFF
from tests.builders import an_instance
from tests.operation_rows import put_under


@pytest.fixture
def operation(cell1, databases):
    """Put a stop under way on h1; a cell-conductor and h1 are up. ``values`` are its row's."""

    def put(**values):
        stopping = an_instance(host="h1", task_state=POWERING_OFF)
        with databases.cell1.begin() as session:
            services.report(session, host="c1", binary="roost-cell-conductor")
            services.report(session, host="h1", binary="roost-compute")
            instances.create(session, stopping)
            return put_under(session, stopping, **values)

    return put


def from_now(**amount):
    return utcnow() + datetime.timedelta(**amount)


@pytest.mark.parametrize(
    ("lease_until", "told"),
    [
        (None, "its host h1, which has not begun it"),
        (from_now(hours=1), "its host h1, whose lease lasts for"),
        (from_now(minutes=-5), "a cell-conductor's sweep: the lease of h1 ended"),
        (from_now(hours=-2), "a restart of roost-compute on h1, whose lease ended"),
    ],
)
def test_an_operation_waits_for_its_host_or_for_a_sweep(manage, operation, lease_until, told):
    uuid = operation(lease_until=lease_until, tries=2)
    (row,) = manage("operation", "list", "--json").json
    assert row["operation"] == uuid
    assert row["tries"] == 2
    assert row["waits_for"].startswith(told)


@pytest.mark.parametrize(
    ("host", "binary", "told"),
    [
        ("h1", "roost-compute", "its host h1, which is forced down"),
        ("c1", "roost-cell-conductor", "the cell-conductors of cell1: none is up"),
    ],
)
def test_an_operation_waits_for_a_daemon_that_is_down(
    manage, databases, operation, host, binary, told
):
    operation()
    with databases.cell1.begin() as session:
        daemon = services.report(session, host=host, binary=binary)
        services.update(session, daemon.uuid, forced_down=True)
    (row,) = manage("operation", "list", "--json").json
    assert row["waits_for"] == told


def test_an_operation_that_is_undone_is_shown_with_the_reason(manage, operation):
    uuid = operation(reason="no room on h1")
    (story,) = manage("operation", "show", uuid, "--json").json["operations"]
    assert (story["state"], story["reason"]) == ("being undone", "no room on h1")
