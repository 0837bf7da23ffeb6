"""Those who wait for hosts: which hosts are not asked, and who works meanwhile."""

import contextlib
import inspect
import pathlib
import re
import threading
from concurrent import futures

import oslo_messaging
import pytest

from roost import api, exception
from roost.api import admission
from roost.api.middleware import NoAuth
from roost.cells.cell import CallLimits, GuardedBus
from roost.cells.host_breakers import HostBreakers
from roost.circuit_breaker import PAUSE
from roost.context import RequestContext
from roost.rpc.compute import Compute

BLOCKING = sorted(
    name for name, method in Compute.methods.items() if method.declared.kind == "call"
)


class Hanging:
    """A bus on which no host answers."""

    def __init__(self):
        self.asked = 0

    def client(self, _topic, _version_cap=None):
        return self

    def prepare(self, **_options):
        return self

    def call(self, _context, _method, **_arguments):
        self.asked += 1
        raise oslo_messaging.MessagingTimeout

    def check_replies(self):
        """Answers could reach us."""

    def ping(self, *, seconds):
        """The broker is there."""

    def close(self):
        """Nothing is open."""


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def ask(compute, method):
    """Call a method with something for each of its arguments."""
    parameters = list(Compute.methods[method].signature.parameters.values())[2:]
    arguments = {one.name: None for one in parameters if one.default is inspect.Parameter.empty}
    getattr(compute, method)(RequestContext(project_id="p"), **arguments)


@pytest.mark.parametrize("method", BLOCKING)
def test_a_host_that_let_somebody_wait_in_vain_is_not_asked_for_a_while(method):
    clock, bus = Clock(), Hanging()
    guarded = GuardedBus("the bus", bus, CallLimits(), HostBreakers(clock=clock))
    compute = Compute(guarded)
    with pytest.raises(exception.Timeout):
        ask(compute.on("hung"), method)
    for _ in range(5):
        with pytest.raises(exception.Away):
            ask(compute.on("hung"), method)
    assert bus.asked == 1
    with pytest.raises(exception.Timeout):
        ask(compute.on("another"), method)
    clock.now += PAUSE
    for kind in (exception.Timeout, exception.Away):  # one looks again
        with pytest.raises(kind):
            ask(compute.on("hung"), method)
    guarded.close()


def test_an_answer_lets_everybody_pass_again():
    clock = Clock()
    hosts = HostBreakers(clock=clock)
    with contextlib.suppress(oslo_messaging.MessagingTimeout), hosts.passing("h"):
        raise oslo_messaging.MessagingTimeout
    clock.now += PAUSE
    with contextlib.suppress(exception.Conflict), hosts.passing("h"):
        raise exception.Conflict("it answers")
    with hosts.passing("h"), hosts.passing("h"):
        """Both pass at the same time."""


def test_who_waits_for_a_host_takes_no_place_to_work_in():
    hosts, waiting = HostBreakers(begin=admission.leave_turn), threading.Event()
    entered = threading.Semaphore(0)

    def app(environ, start_response):
        if environ["hangs"]:
            with hosts.passing("hung"):
                entered.release()
                assert waiting.wait(60)
        start_response("200 OK", [])
        return [b""]

    made = admission.Admission(
        app,
        at_once=1,
        waiting=9,
        share=1.0,
        callers=NoAuth(),
    )
    with futures.ThreadPoolExecutor() as pool:
        hanging = [pool.submit(made, {"hangs": True}, lambda *_: None) for _ in range(2)]
        assert all(entered.acquire(timeout=60) for _ in hanging)
        for _ in range(3):
            assert made({"hangs": False}, lambda *_: None) == [b""]
        waiting.set()
        assert [one.result(60) for one in hanging] == [[b""], [b""]]
    assert made.present == 0


def test_the_api_waits_for_hosts_only_where_it_looks_whether_they_are_up():
    folder = pathlib.Path(api.__file__).parent
    hints = {name for name, method in Compute.methods.items() if method.declared.kind == "cast"}
    for file in folder.rglob("*.py"):
        if file.name == "host_calls.py":
            continue
        for used in re.findall(r"\.compute\.on\([^\n]*?\)\)?\.(\w+)\(", file.read_text()):
            assert used in hints, f"{file.name} waits for {used}: use ServerHosts"
