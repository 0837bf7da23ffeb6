"""How often the scheduler is asked, counted where the questions arrive, and who hears of them."""

import functools

import pytest
from oslo_messaging.notify import _impl_test

from roost.scheduler.manager import SchedulerManager
from tests.functional.embedded import embedded_cloud

ATTEMPTS = 3
OVERRIDES = {
    "oslo_messaging_notifications": {"driver": "test"},
    "conductor": {"max_attempts": ATTEMPTS},
}


@pytest.fixture(scope="module")
def asked():
    """The instances of every question that has reached a scheduler, in order."""
    questions = []
    answer = SchedulerManager.select_destinations

    @functools.wraps(answer)
    def count(manager, context, **question):
        questions.append(question["instance_uuids"])
        return answer(manager, context, **question)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SchedulerManager, "select_destinations", count)
        yield questions


@pytest.fixture(scope="module")
def shared_cloud(asked, tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), overrides=OVERRIDES) as cloud:
        yield cloud


@pytest.fixture
def cloud(shared_cloud, asked):
    asked.clear()
    _impl_test.reset()
    yield shared_cloud
    shared_cloud.delete_all()
    assert shared_cloud.audit() == {}


def notified():
    """Return what was sent about questions: event, payload by its fields."""
    sent = [message for _context, message, _priority, _retry in _impl_test.NOTIFICATIONS]
    return [
        (message["event_type"], message["payload"]["roost_object.data"])
        for message in sent
        if message["event_type"].startswith("scheduler.select_destinations.")
    ]


def events():
    return [event.rpartition(".")[2] for event, _payload in notified()]


def test_one_server_is_one_question(cloud, asked):
    ids = cloud.boot()
    cloud.wait(ids, "ACTIVE")
    assert asked == [ids]
    assert events() == ["start", "end"]


def test_many_servers_of_one_request_are_one_question(cloud, asked):
    ids = cloud.boot(count=5)
    cloud.wait(ids, "ACTIVE")
    assert [sorted(question) for question in asked] == [sorted(ids)]
    assert events() == ["start", "end"]


def test_the_answer_is_told_with_the_version_of_its_payload(cloud):
    (server,) = cloud.wait(cloud.boot(), "ACTIVE")
    (message,) = [
        message
        for _context, message, _priority, _retry in _impl_test.NOTIFICATIONS
        if message["event_type"] == "scheduler.select_destinations.end"
    ]
    assert message["priority"] == "INFO"
    assert message["publisher_id"] == "roost-super-conductor:super-conductor"
    payload = message["payload"]
    assert (payload["roost_object.name"], payload["roost_object.version"]) == (
        "DestinationsPayload",
        "1.0",
    )
    (chosen,) = payload["roost_object.data"]["selections"]
    assert chosen["roost_object.data"]["host"] == server["OS-EXT-SRV-ATTR:host"]


def test_a_question_without_an_answer_is_asked_once_and_told(cloud, asked):
    ids = cloud.boot(flavorRef=cloud.create_flavor(name="giant", ram=2**30))
    cloud.wait(ids, "ERROR")
    assert asked == [ids]
    assert events() == ["start", "error"]
    told = notified()[-1][1]
    assert "No valid host was found" in told["reason"]
    verdicts = [verdict["roost_object.data"] for verdict in told["refusals"]]
    assert [verdict["filter"] for verdict in verdicts if verdict["reasons"]] == ["ram"]


def test_alternates_are_tried_without_another_question(cloud, asked):
    with cloud.faults({"step": "spawn", "kind": "reschedulable"}):
        ids = cloud.boot()
        cloud.wait(ids, "ERROR")
    assert asked == [ids]


def test_without_alternates_the_cell_asks_once_more_and_tells(cloud, asked):
    with cloud.faults({"step": "spawn", "kind": "reschedulable"}):
        ids = cloud.boot(availability_zone="nova:cell1-host1")  # one host, so no alternates
        cloud.wait(ids, "ERROR")
    assert asked == [ids, ids]
    assert events() == ["start", "end", "start", "error"]
    assert "to be ignored" in notified()[-1][1]["reason"]
