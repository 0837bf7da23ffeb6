"""Images that hosts were to make, and did not: who writes them down, and what becomes of them."""

import io

import pytest

from roost import exception, states
from roost.conductor.cell.operation_outcomes import AbandonedImages, ObservedGuest
from roost.context import admin_context
from roost.db.cell import images, instances, operations, soft_delete
from roost.image.local import LocalImageStore
from roost.operations.kinds import CREATE_BACKUP, CREATE_IMAGE
from tests.builders import a_context, an_image, an_instance
from tests.operation_rows import put_under
from tests.unit.conductor.test_expired_tasks import end_leases
from tests.unit.db.test_cell import an_action

TASKS_OF_IMAGES = sorted({*CREATE_IMAGE.tasks, *CREATE_BACKUP.tasks})


class Moody(LocalImageStore):
    """A store that answers with its trouble, while it has one, and counts what it is asked."""

    trouble = None
    asked = 0

    def abandon(self, context, image_id):
        self.asked += 1
        if self.trouble is not None:
            raise self.trouble
        super().abandon(context, image_id)


@pytest.fixture
def store(tmp_path):
    return Moody(tmp_path / "images")


@pytest.fixture
def snapshot(cell, store):
    """Put a server of h1 under the task of making an image, which waits in the store."""

    def snapshot(task=states.IMAGE_UPLOADING, **values):
        image = an_image(visibility="private", owner="project")
        waiting = store.create(a_context(), image)
        given = {"host": "h1", "attempt": 1, "vm_state": states.ACTIVE} | values
        made = an_instance(**given, task_state=task)
        with cell.database.begin() as session:
            instances.create(session, made)
            put_under(session, made, image=waiting)
        return made.uuid, waiting.id

    return snapshot


@pytest.fixture
def forsaken(cell, store):
    return AbandonedImages(cell.database, store)


def written(cell):
    with cell.database.read() as session:
        return images.list_forsaken(session, limit=10)


def kept(store):
    return [image.id for image in store.list_images(admin_context())]


def lose_host(cell):
    end_leases(cell)
    cell.down = {"h1"}
    cell.sweep()


@pytest.mark.parametrize("task", TASKS_OF_IMAGES)
def test_an_image_whose_host_is_down_goes(cell, store, snapshot, forsaken, task):
    uuid, image_id = snapshot(task)
    lose_host(cell)
    assert written(cell) == {image_id: uuid}
    forsaken.sweep()
    assert (kept(store), written(cell)) == ([], {})


def test_an_image_of_a_server_that_is_put_away_meanwhile_goes(cell, store, snapshot, forsaken):
    uuid, image_id = snapshot()
    with cell.database.begin() as session:
        soft_delete.soft_delete(session, record=an_action(uuid, request_id="req-away"), turn=1)
    assert written(cell) == {image_id: uuid}
    forsaken.sweep()
    assert (kept(store), written(cell)) == ([], {})


def test_what_the_host_says_has_failed_is_forsaken_and_what_has_not_is_not(cell, snapshot):
    (failed, image_id), (done, _) = snapshot(), snapshot()
    outcomes = cell.sweeper().operations.outcomes
    for uuid, reason in ((failed, "no room"), (done, None)):
        found = ObservedGuest("h1", states.RUNNING, states.ACTIVE, reason=reason)
        with cell.database.read() as session:
            operation = operations.find(session, uuid)
        outcomes.end(cell.context, operation, found)
    assert written(cell) == {image_id: failed}


def test_an_image_that_has_its_data_after_all_stays(cell, store, snapshot, forsaken):
    _, image_id = snapshot()
    lose_host(cell)
    store.upload(admin_context(), image_id, io.BytesIO(b"whole"))
    forsaken.sweep()
    assert (kept(store), written(cell)) == ([image_id], {})


def test_while_the_store_is_away_images_wait_and_go_when_it_is_back(
    cell, store, snapshot, forsaken
):
    snapshot()
    snapshot()
    lose_host(cell)
    store.trouble = exception.Unavailable("Glance does not answer.")
    for _ in range(2):
        with pytest.raises(exception.Unavailable):
            forsaken.sweep()
    assert (store.asked, len(written(cell))) == (2, 2)  # once each time: all the others would wait
    store.trouble = None
    forsaken.sweep()
    assert (kept(store), written(cell)) == ([], {})


def test_what_the_store_refuses_is_said_and_not_asked_again(
    cell, store, snapshot, forsaken, caplog
):
    uuid, image_id = snapshot()
    lose_host(cell)
    store.trouble = exception.Forbidden("not yours")
    for _ in range(2):
        forsaken.sweep()
    assert (store.asked, written(cell)) == (1, {})
    assert f"[instance: {uuid}] image {image_id} stays without data: not yours" in caplog.text
