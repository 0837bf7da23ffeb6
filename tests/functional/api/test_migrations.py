"""The list of migrations: moves of servers to other hosts or flavors, over all cells."""

import datetime

import pytest
import sqlalchemy as sa

from roost import exception
from roost.api.dependencies import ApiOptions
from roost.api.middleware import NoAuth
from roost.db.api import flavors
from roost.db.cell import migrations, models
from roost.objects.migration import CONFIRMED, ENDED, FINISHED, MIGRATING
from tests import api_harness
from tests.api_harness import ADMIN, ALICE
from tests.builders import CELL1, CELL2, NOW, a_flavor, a_migration, a_uuid

PATH = "/v2.1/os-migrations"
NEWEST = "2.80"
MANAGER = "manager:project"


class _Managers(NoAuth):
    """The user ``manager`` manages the project."""

    def process_request(self, req, resp):
        super().process_request(req, resp)
        if req.context.caller.user_id == "manager":
            req.context.caller.roles = ["manager", "member", "reader"]


@pytest.fixture
def world(api_db, make_database, options):
    made = api_harness.made(api_db, make_database, options, authentication=_Managers())
    with made as world:
        yield world


@pytest.fixture
def migrate(world):
    """Record migrations, each a second older than the one before."""
    ages = iter(range(1000))

    def migrate(cell_uuid=CELL1, *, updated_at=None, **values):
        made = a_migration(
            **{
                "migration_type": "resize",
                "status": MIGRATING,
                "source_node": "n1",
                "dest_node": "n2",
                "dest_ip": "192.0.2.2",
                "new_flavor": a_flavor(flavorid="gone"),
                "user_id": "alice",
                **values,
            }
        )
        with world.databases[cell_uuid].begin() as session:
            migrations.create(session, made)
            table, at = models.migrations, NOW - datetime.timedelta(seconds=next(ages))
            times = {"created_at": at, "updated_at": updated_at}
            session.execute(sa.update(table).where(table.c.uuid == made.uuid).values(**times))
        return made.uuid

    return migrate


def read(session, uuid):
    wanted = migrations.MigrationFilter(equal={"uuid": uuid})
    (found,) = migrations.list_page(session, wanted, after=None, limit=1)
    return found


@pytest.fixture
def listed(world):
    def listed(query="", *, version=NEWEST, token=ADMIN):
        answer = world.client.get(f"{PATH}?{query}", version=version, token=token)
        return [one["uuid"] for one in answer.json["migrations"]]

    return listed


def test_a_migration_is_shown_with_hosts_flavors_and_times(world, migrate):
    uuid = migrate(updated_at=NOW)
    (shown,) = world.client.get(PATH, version=NEWEST).json["migrations"]
    with world.databases[CELL1].read() as session:
        kept = read(session, uuid)
    with world.api_db.read() as session:
        numbers = flavors.row_ids(session, ["1", "gone"])
    assert shown == {
        "id": kept.id,
        "uuid": uuid,
        "instance_uuid": kept.instance_uuid,
        "migration_type": "resize",
        "status": "migrating",
        "source_compute": "h1",
        "source_node": "n1",
        "dest_compute": "h2",
        "dest_node": "n2",
        "dest_host": "192.0.2.2",
        "old_instance_type_id": numbers["1"],
        "new_instance_type_id": None,
        "user_id": "alice",
        "project_id": "project",
        "created_at": "2026-01-02T03:04:05.000000",
        "updated_at": "2026-01-02T03:04:05.000000",
    }


@pytest.mark.parametrize(
    ("version", "missing"),
    [
        ("2.22", {"migration_type", "uuid", "user_id", "project_id"}),
        ("2.58", {"uuid", "user_id", "project_id"}),
        ("2.79", {"user_id", "project_id"}),
    ],
)
def test_older_microversions_show_less(world, migrate, version, missing):
    migrate()
    newest, older = (
        world.client.get(PATH, version=one).json["migrations"][0] for one in (NEWEST, version)
    )
    assert newest.keys() - older.keys() == missing


def test_pages_go_on_over_all_cells_the_newest_first(world, migrate):
    made = [migrate(cell) for cell in (CELL2, CELL1, CELL1, CELL2, CELL1)]
    pages = [
        [one["uuid"] for one in answer.json["migrations"]]
        for answer in world.client.pages(f"{PATH}?limit=2", of="migrations", version=NEWEST)
    ]
    assert pages == [made[:2], made[2:4], made[4:]]


def test_a_marker_that_is_no_migration_is_refused(world, migrate):
    migrate()
    for marker in (a_uuid(), "x"):
        answer = world.client.get(f"{PATH}?marker={marker}", version=NEWEST)
        assert answer.status_code == 400
        assert f"Marker {marker} could not be found" in answer.json["badRequest"]["message"]


def test_filters_are_about_one_migration_each(migrate, listed):
    theirs = {
        "migration_type": "migration",
        "status": CONFIRMED,
        "instance_uuid": a_uuid(),
        "user_id": "bob",
        "project_id": "other",
    }
    mine, other = migrate(), migrate(CELL2, source_host="h3", dest_host="h4", **theirs)
    for name, value in theirs.items():
        assert listed(f"{name}={value}") == [other], name
    assert listed("source_compute=h1") == [mine]
    assert listed("host=h2") == [mine]
    assert listed("host=h3") == [other]
    assert (listed("hidden=1"), listed("hidden=0")) == ([], [mine, other])


def test_changes_are_those_since_the_last_change(migrate, listed):
    later = NOW + datetime.timedelta(hours=1)
    changed, _unchanged = migrate(updated_at=later), migrate()
    since = (NOW + datetime.timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert listed(f"changes-since={since}") == [changed]
    assert changed not in listed(f"changes-before={since}")


def test_managers_see_what_is_their_projects_and_no_hosts(world, migrate, listed):
    mine, _other = migrate(), migrate(project_id="other")
    assert listed(token=MANAGER) == [mine]
    (shown,) = world.client.get(PATH, version=NEWEST, token=MANAGER).json["migrations"]
    hosts = ("source_compute", "source_node", "dest_compute", "dest_node", "dest_host")
    assert [shown[name] for name in hosts] == [None] * 5
    answer = world.client.get(f"{PATH}?project_id=other", version=NEWEST, token=MANAGER)
    assert answer.status_code == 403
    assert world.client.get(PATH, version=NEWEST, token=ALICE).status_code == 403


class TestUnavailableCells:
    """The database of the second cell does not answer."""

    @pytest.fixture(params=[True, False], ids=["partial", "whole"])
    def options(self, request):
        return ApiOptions(skip_cells_away=request.param)

    def test_their_migrations_are_left_out_or_the_list_fails(self, world, migrate, options):
        uuid, _other = migrate(CELL1), migrate(CELL2)

        def away():
            raise exception.Unavailable("cannot reach cell2")

        world.databases[CELL2].read = away
        answer = world.client.get(PATH, version=NEWEST)
        if options.skip_cells_away:
            assert [one["uuid"] for one in answer.json["migrations"]] == [uuid]
        else:
            assert answer.status_code == 503


def test_a_server_has_at_most_one_migration_that_is_not_over(world, migrate):
    instance = a_uuid()
    for status in ENDED:
        migrate(instance_uuid=instance, status=status)
    uuid = migrate(instance_uuid=instance)
    with world.databases[CELL1].begin() as session:
        assert migrations.unfinished(session, instance).uuid == uuid
        migrations.update(session, uuid, {"status": FINISHED}, expected=[MIGRATING])
        with pytest.raises(exception.Conflict, match=f"{uuid} is not migrating"):
            migrations.update(session, uuid, {"status": FINISHED}, expected=[MIGRATING])
        found = migrations.unfinished(session, instance)
        assert (found.status, found.updated_at is not None) == (FINISHED, True)
        migrations.update(session, uuid, {"status": CONFIRMED}, expected=[FINISHED])
        assert migrations.unfinished(session, instance) is None


def test_a_migration_is_recorded_once(world, migrate, listed):
    uuid = migrate()
    with world.databases[CELL1].begin() as session:
        migrations.create(session, read(session, uuid))
    assert listed() == [uuid]
