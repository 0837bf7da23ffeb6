"""A server takes in so many messages and no more."""

import threading
import time
from concurrent import futures

import pytest

from roost import conf, exception
from roost.context import admin_context
from roost.rpc import interface
from roost.rpc import server as rpc_server
from roost.rpc.transport import Bus
from tests.stories.cloud import wait_until


class Desk(interface.Interface):
    topic, version = "desk", "1.0"

    @interface.call(since="1.0", timeout=60)
    def ask(self, context, *, number: int) -> int: ...

    @interface.cast(since="1.0")
    def tell(self, context, *, number: int) -> None: ...


class Clerk:
    def __init__(self):
        self.open = threading.Event()
        self.begun = threading.Event()
        self.asked, self.told = [], []

    def ask(self, context, *, number):
        self.asked.append(number)
        self.begun.set()
        assert self.open.wait(60)
        return number

    def tell(self, context, *, number):
        self.told.append(number)


@pytest.fixture
def bus(tmp_path):
    file = tmp_path / "roost.conf"
    file.write_text("[DEFAULT]\ntransport_url = fake://room/\n")
    made = Bus(conf.load([], files=[str(file)]))
    yield made
    made.close()


@pytest.fixture
def clerk(bus, monkeypatch):
    monkeypatch.setattr(rpc_server, "ROOM", 2)
    made = Clerk()
    server = bus.server(Desk, made, "here")
    server.start(1)
    yield made
    made.open.set()
    server.stop()
    server.wait()


def test_a_call_that_finds_no_room_is_told_so_and_the_others_are_answered(bus, clerk):
    desk = Desk(bus)
    with futures.ThreadPoolExecutor(4) as callers:
        first = callers.submit(desk.ask, admin_context(), number=0)
        assert clerk.begun.wait(60)
        asked = [callers.submit(desk.ask, admin_context(), number=n) for n in (1, 2, 3)]
        refused, _ = futures.wait(asked, timeout=60, return_when=futures.FIRST_COMPLETED)
        (error,) = [one.exception() for one in refused]
        assert isinstance(error, exception.Unavailable)
        clerk.open.set()
        answers = {one.result(60) for one in (first, *asked) if one not in refused}
    assert len(answers) == 3


def test_a_call_whose_caller_gave_up_while_it_waited_in_the_server_is_not_carried_out(bus, clerk):
    desk = Desk(bus)
    with futures.ThreadPoolExecutor(2) as callers:
        first = callers.submit(desk.ask, admin_context(), number=0)
        assert clerk.begun.wait(60)
        with pytest.raises(exception.Timeout):
            desk.within(1).ask(admin_context(), number=1)
        time.sleep(1)  # the way here took a moment, and the server counts from its end
        clerk.open.set()
        assert first.result(60) == 0
    assert desk.ask(admin_context(), number=2) == 2
    assert clerk.asked == [0, 2]


def test_a_cast_that_finds_no_room_is_dropped_and_later_ones_are_heard(bus, clerk, caplog):
    desk = Desk(bus)
    with futures.ThreadPoolExecutor(1) as callers:
        first = callers.submit(desk.ask, admin_context(), number=0)
        assert clerk.begun.wait(60)
        for number in range(5):
            desk.tell(admin_context(), number=number)
        wait_until(lambda: "messages are refused" in caplog.text, "some are refused")
        with pytest.raises(exception.Unavailable):
            desk.ask(admin_context(), number=9)  # behind all casts, so these have come
        clerk.open.set()
        assert first.result(60) == 0
    desk.tell(admin_context(), number=5)
    wait_until(lambda: clerk.told == [0, 1, 5], "what had room, and what came later, was heard")
