"""A cell's database is put back as it was while servers were being built and rebuilt.

All that was over since, and users have written into the guests: what was begun in the backup is not
done again. The fixtures are those of ``restores.py``.
"""

import contextlib
import datetime
import json

import sqlalchemy as sa

from roost import states
from roost.db.cell import models
from roost.operations.kinds import REBUILD
from tests.stories.cloud import wait_until
from tests.stories.restores import SERVICES

HELD = 6.0  # seconds
INSTANCES = models.instances
OPERATIONS = models.operations


def tasks(site):
    """Return what is being made of servers, as their cell says."""
    c = INSTANCES.c
    made = c.task_state.in_((*states.BUILD_TASKS, *REBUILD.tasks))
    with site.reading("cell1") as session:
        rows = session.execute(sa.select(c.uuid, c.task_state).where(made))
        return {row.uuid: row.task_state for row in rows}


def is_old(site, age):
    """Let what was put back be of a backup of that age."""
    then = datetime.datetime.now(datetime.UTC) - age
    site.write("cell1", sa.update(INSTANCES).values(created_at=then, updated_at=then))
    leased = sa.update(OPERATIONS).where(OPERATIONS.c.lease_until.is_not(None))
    site.write("cell1", leased.values(lease_until=then))
    site.write("cell1", sa.update(OPERATIONS).values(created_at=then))
    site.write("cell1", sa.update(SERVICES).values(last_seen_up=then))


def write_diary(site, uuid):
    """Write what only this very guest has, once its host does not write any more."""
    wait_until(lambda: json.loads(site.guest(uuid).read_text())["announced"], "the host's note")
    guest = site.guest(uuid)
    guest.write_text(json.dumps(json.loads(guest.read_text()) | {"diary": uuid}))


def diaries(site):
    """Return whose diaries are still there."""
    found = {uuid: json.loads(site.guest(uuid).read_text()) for uuid in site.guests()}
    return {uuid for uuid, guest in found.items() if guest.get("diary") == uuid}


def test_what_was_being_made_in_a_backup_is_not_made_again(site):
    cloud, image, held = site.cloud, site.another_image(), contextlib.ExitStack()
    early, late = site.boot("early"), site.boot("late")
    spawning = {"step": "spawn", "delay": HELD}
    with held:
        held.enter_context(cloud.faults(spawning))
        (guest,) = cloud.boot("guest")
        site.act(late, "rebuild", {"imageRef": image})
        known = {guest: states.SPAWNING, late: states.REBUILD_SPAWNING}
        wait_until(lambda: tasks(site) == known, "the guests to be half made")
        before = [{"step": step, "delay": HELD} for step in ("begin", "image")]
        held.enter_context(cloud.faults(*before, spawning))
        (row,) = cloud.boot("row")
        site.act(early, "rebuild", {"imageRef": image})
        known |= {row: states.SPAWNING, early: states.REBUILDING}
        wait_until(lambda: tasks(site) == known, "the others to be asked for")
        with site.copies.of("cell1"):
            assert tasks(site) == known
            held.close()
            cloud.wait(known, "ACTIVE")
            for uuid in (early, late):
                site.is_rebuilt(uuid, image)
            for uuid in known:
                write_diary(site, uuid)
            homes = site.guests()
            cloud.rig.kill("cell1-conductor")
    site.manage("db", "sync", "cell", "--cell", "cell1", file="owner")
    is_old(site, datetime.timedelta(hours=2))
    assert tasks(site) == known
    cloud.rig.start_daemon("cell1-conductor")
    wait_until(lambda: tasks(site) == {}, "the end of all tasks")
    site.audit()
    assert site.guests() == homes
    assert diaries(site) == {*known}
    assert {cloud.show(uuid)["status"] for uuid in known} == {"ACTIVE"}
    assert site.listed() == ["early", "guest", "late", "row"]
    site.is_whole(*known)
