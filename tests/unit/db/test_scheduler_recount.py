"""The usage of hosts is compared with the sums of their claims, whatever their classes."""

import pytest
import sqlalchemy as sa

from roost.db.scheduler import claims, models, recount, reports, usage
from roost.db.scheduler import hosts as host_rows
from tests.builders import NOW, a_report, a_uuid

GPU = {"": {"VCPU": 2, "CUSTOM_A": 1}, "gpu0": {"VGPU": 1}}


@pytest.fixture
def database(make_database):
    return make_database("scheduler", models.metadata)


@pytest.fixture
def host_id(database):
    with database.begin() as session:
        return reports.take_in(session, a_report("h1"), reported_at=NOW).host_id


@pytest.fixture
def change(database, host_id):
    """Write claims as schedulers do."""

    def change(*, gained=(), lost=()):
        with database.begin() as session:
            locked = {each.id: each for each in host_rows.usages(session, [host_id], lock=True)}
            usage.write(session, usage.changed(locked, gained=gained, lost=lost))
            claims.delete(session, lost)
            claims.insert(session, gained, now=NOW)

    return change


@pytest.fixture
def miscounted(database):
    return lambda: database.query(recount.list_miscounted)


def used(database, host_id):
    (found,) = database.query(host_rows.usages, [host_id])
    return found.generation, found.instances, found.used


def a_claim(host_id, allocations):
    return claims.Claim(a_uuid(), host_id, allocations)


def test_claims_of_any_class_and_part_are_summed_up(database, host_id, change, miscounted):
    first, second = a_claim(host_id, GPU), a_claim(host_id, {"": {"VCPU": 1}})
    change(gained=[first, second])
    twice = {"": {"VCPU": 3, "CUSTOM_A": 1}, "gpu0": {"VGPU": 1}}
    assert used(database, host_id) == (2, 2, twice)
    change(gained=[a_claim(host_id, GPU)], lost=[first])
    assert used(database, host_id) == (3, 2, twice)
    change(lost=[second])
    assert used(database, host_id) == (4, 1, GPU)
    assert miscounted() == []


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"used": {}}, {"instances": 1}),
        ({"instances_used": 3}, {"VCPU": 2, "CUSTOM_A": 1, "gpu0 VGPU": 1, "instances": 3}),
        (
            {"used": {"": {"VCPU": 2, "CUSTOM_A": 1}, "gpu1": {"VGPU": 1}}},
            {"VCPU": 2, "CUSTOM_A": 1, "gpu1 VGPU": 1, "instances": 1},
        ),
    ],
    ids=["less", "more instances", "another part"],
)
def test_what_differs_is_told_and_set_right(database, host_id, change, miscounted, wrong, told):
    change(gained=[a_claim(host_id, GPU)])
    with database.begin() as session:
        session.execute(sa.update(models.hosts).values(wrong))
    (found,) = miscounted()
    assert found["used"] == told
    assert found["claimed"] == {"VCPU": 2, "CUSTOM_A": 1, "gpu0 VGPU": 1, "instances": 1}
    assert database.write(recount.recount, "h1") == [host_id]
    assert used(database, host_id) == (3, 1, GPU)
    assert miscounted() == []
    assert database.write(recount.recount, "h1") == []
