"""Changes of hosts that wait to be sent: merged, bounded, and never waited for."""

import threading

import pytest

from roost import exception
from roost.db.scheduler.hosts import Usage
from roost.scheduler.changes import ChangeQueue, HostChanges, Peers


def a_usage(host_id, generation, vcpus=1):
    return Usage(host_id, generation, 1, 0.0, 1, {"": {"VCPU": vcpus, "CUSTOM_A": 2}})


def claimed(*usages):
    return HostChanges(usages={usage.id: usage for usage in usages})


@pytest.fixture
def sent():
    return []


@pytest.fixture
def queue(sent):
    return ChangeQueue(sent.append, name="others", linger=0.0)


def test_changes_of_a_host_are_merged_and_the_newest_usage_stays(queue, sent):
    for generation in (2, 4, 3):
        queue.put(claimed(a_usage(1, generation, vcpus=generation)))
    queue.put(HostChanges.of("description", [1, 2]))
    queue.put(HostChanges.of("liveness", [2]))
    queue.send_next()
    (changes,) = sent
    assert changes.usages == {1: a_usage(1, 4, vcpus=4)}
    assert changes.kinds() == {1: {"claims", "description"}, 2: {"description", "liveness"}}


def test_what_is_sent_arrives_as_it_was(queue, sent):
    queue.put(claimed(a_usage(1, 2)))
    queue.put(HostChanges.of("liveness", [2]))
    queue.put(HostChanges(removed={3}, heard={4: 5.5}, cells={"c": 6.5}, aggregates=True))
    queue.send_next()
    arrived = HostChanges.from_message(**sent[0].to_message())
    sent[0].stale = {2: set()}  # who reads the host again need not know what changed
    assert arrived == sent[0]


def test_while_nobody_takes_them_no_more_than_the_hosts_are_held(queue):
    for generation in range(1000):
        queue.put(claimed(*(a_usage(host_id, generation) for host_id in range(3))))
        queue.put(HostChanges(heard={9: float(generation)}))
    assert len(queue._pending.usages) + len(queue._pending.heard) == 4


def test_whoever_commits_does_not_wait_for_a_sender_that_hangs():
    hangs, goes_on = threading.Event(), threading.Event()

    def send(changes):
        hangs.set()
        assert goes_on.wait(30)

    queue = ChangeQueue(send, name="others")
    queue.put(claimed(a_usage(1, 2)))
    sender = threading.Thread(target=queue.send_next)
    sender.start()
    assert hangs.wait(30)
    queue.put(claimed(a_usage(1, 3)))  # returns
    goes_on.set()
    sender.join()


def test_reports_without_news_wait_for_others_and_claims_do_not(sent):
    queue = ChangeQueue(sent.append, name="others", linger=30.0)
    sender = threading.Thread(target=queue.send_next)
    sender.start()
    queue.put(HostChanges(heard={4: 5.5}))
    sender.join(0.1)
    assert sent == []
    queue.put(claimed(a_usage(1, 2)))
    sender.join(10)
    assert [changes.heard for changes in sent] == [{4: 5.5}]


def test_who_has_not_heard_of_another_for_long_is_alone():
    now = [100.0]
    peers = Peers(clock=lambda: now[0])
    assert not peers.note(peers.name)
    assert not peers.are_there
    assert peers.note("another")
    assert peers.are_there
    now[0] += 30.0
    assert not peers.are_there


def test_who_ends_sends_no_more_and_does_not_wait(sent):
    queue = ChangeQueue(sent.append, name="others", linger=30.0)
    sender = threading.Thread(target=queue.send_next)
    sender.start()
    queue.put(HostChanges(heard={4: 5.5}))
    queue.close(5.0)
    sender.join(10)
    assert not sender.is_alive()
    assert sent == []


def test_without_changes_nothing_is_sent(queue, sent):
    queue.send_next()
    assert sent == []


def test_an_outage_is_logged_once_and_what_it_swallowed_is_dropped(caplog):
    away, sent = [True], []

    def send(changes):
        if away:
            raise exception.Unavailable("the bus is away")
        sent.append(changes)

    queue = ChangeQueue(send, name="others", linger=0.0)
    for generation in (2, 3):
        queue.put(claimed(a_usage(1, generation)))
        queue.send_next()
    away.clear()
    queue.put(claimed(a_usage(2, 2)))
    queue.send_next()
    assert [list(changes.usages) for changes in sent] == [[2]]
    warnings = [record for record in caplog.records if record.levelname == "WARNING"]
    assert len(warnings) == 1
