"""RPC over RabbitMQ: what the in-process bus cannot show."""

import threading
import time
from concurrent import futures

import kombu
import pytest

from roost import conf, exception
from roost.rpc import interface
from roost.rpc.transport import Bus
from tests.builders import a_context

RUBBISH = [
    b"",
    b"\xff\xfe not text",
    b"[]",
    b"null",
    b'"text"',
    b"{}",
    b'{"oslo.version": "2.0"}',
    b'{"oslo.version": "2.0", "oslo.message": "no JSON"}',
    b'{"oslo.version": "2.0", "oslo.message": "{}"}',
    b'{"oslo.version": "9.0", "oslo.message": "{}"}',
    b'{"oslo.version": "2.0", "oslo.message": "{\\"method\\": 7, \\"args\\": []}"}',
]


class Echo(interface.Interface):
    topic = "echo"
    version = "1.0"

    @interface.call(since="1.0", timeout=10)
    def say(self, context, *, number: int) -> int: ...

    @interface.call(since="1.0", timeout=20, silence=2)
    def work(self, context, *, seconds: float) -> float: ...

    @interface.cast(since="1.0")
    def note(self, context, *, number: int) -> None: ...


class Manager:
    def __init__(self):
        self.said, self.noted = [], []
        self.began = threading.Event()

    def say(self, context, *, number):
        self.said.append(number)
        if number < 0:
            raise exception.NoCapacity("negative", number=number)
        return number

    def work(self, context, *, seconds):
        self.began.set()
        time.sleep(seconds)
        return seconds

    def note(self, context, *, number):
        self.noted.append(number)


@pytest.fixture
def bus(rabbitmq_url):
    bus = Bus(conf.of({}), rabbitmq_url)
    yield bus
    bus.close()


@pytest.fixture
def serve(rabbitmq_url):
    """Serve on a connection of its own, as another process would."""
    opened = []

    def start(manager=None, threads=8):
        bus = Bus(conf.of({}), rabbitmq_url)
        server = bus.server(Echo, manager or Manager(), "h1")
        server.start(threads)
        opened.append((server, bus))
        return server, bus

    yield start
    for server, bus in opened:
        end(server, bus)


def end(server, bus):
    server.stop()
    server.wait()
    bus.close()


def test_a_failure_keeps_its_kind_and_details(bus, serve):
    serve()
    with pytest.raises(exception.NoCapacity) as caught:
        Echo(bus).say(a_context(), number=-1)
    assert (caught.value.message, caught.value.details) == ("negative", {"number": -1})


def test_who_works_long_is_waited_for_and_who_says_nothing_is_not(bus, serve):
    serve(manager := Manager(), threads=1)
    with futures.ThreadPoolExecutor() as pool:
        working = pool.submit(Echo(bus).work, a_context(), seconds=6.0)
        assert manager.began.wait(30)
        began = time.monotonic()
        with pytest.raises(exception.Timeout):
            Echo(bus).work(a_context(), seconds=0.0)
        assert time.monotonic() - began < 4
        assert working.result(30) == 6.0


@pytest.mark.parametrize("method", ["say", "note"])
def test_where_nobody_listens_the_sender_is_told_at_once(bus, method):
    began = time.monotonic()
    with pytest.raises(exception.Unavailable, match="no server listens for echo"):
        getattr(Echo(bus), method)(a_context(), number=1)
    assert time.monotonic() - began < 5


def test_a_bus_that_cannot_be_reached_is_no_reason_to_wait_for_ever(rabbitmq_url):
    away = Bus(conf.of({}), "rabbit://guest:guest@127.0.0.1:1/nowhere")
    with pytest.raises(exception.Unavailable):
        Echo(away).note(a_context(), number=1)


@pytest.mark.parametrize("method", ["say", "note"])
@pytest.mark.parametrize("missing", ["user", "virtual host"])
def test_a_broker_that_does_not_know_us_is_away(rabbitmq_url, method, missing):
    """As one is that was wiped, until its users and virtual hosts are made again."""
    login, at, place = rabbitmq_url.rpartition("@")
    urls = {"user": f"{login}-no-more{at}{place}", "virtual host": f"{rabbitmq_url}-no-more"}
    bus = Bus(conf.of({}), urls[missing])
    with pytest.raises(exception.Unavailable):
        getattr(Echo(bus), method)(a_context(), number=1)
    bus.close()


def test_strangers_that_send_rubbish_disturb_nobody(bus, serve, rabbitmq_url):
    serve()
    topic = f"{rabbitmq_url.rpartition('/')[2]}.echo"
    with kombu.Connection(rabbitmq_url.replace("rabbit://", "amqp://")) as connection:
        channel = connection.channel()
        for queue in (topic, f"{topic}.h1"):
            channel.queue_declare(queue=queue, passive=True)  # it is there, or this fails
            for rubbish in RUBBISH:
                connection.Producer(channel).publish(
                    rubbish,
                    routing_key=queue,
                    content_type="application/json",
                    content_encoding="utf-8",
                )
    assert Echo(bus).on("h1").say(a_context(), number=7) == 7
    assert Echo(bus).say(a_context(), number=8) == 8


def test_no_call_is_lost_when_a_server_is_replaced(bus, serve):
    server, own = serve()
    answers, done = [], threading.Event()

    def ask():
        while not done.is_set():
            answers.append(Echo(bus).say(a_context(), number=len(answers)))

    askers = [threading.Thread(target=ask) for _ in range(4)]
    for asker in askers:
        asker.start()
    _until(lambda: len(answers) > 50)
    end(server, own)
    before = len(answers)
    serve()
    _until(lambda: len(answers) > before + 50)
    done.set()
    for asker in askers:
        asker.join()


def test_the_broker_drops_calls_that_wait_longer_than_their_callers(bus, serve, rabbitmq_url):
    """By its own clock: a server cannot know how old a call is that comes to it."""
    end(*serve())  # its queue stays
    with pytest.raises(exception.Timeout):
        Echo(bus).within(1).say(a_context(), number=1)
    Echo(bus).note(a_context(), number=2)  # a cast is kept, however long
    serve(manager := Manager())
    _until(lambda: manager.noted)
    assert (manager.said, manager.noted) == ([], [2])


def _until(condition):
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, "no answers"
        time.sleep(0.01)
