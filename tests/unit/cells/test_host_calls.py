"""Those who wait for hosts: how many may, and which hosts are not asked."""

import contextlib
import inspect
import pathlib
import re
import threading
import time
from concurrent import futures

import oslo_messaging
import pytest

import roost.conf
from roost import api, exception
from roost.api import admission
from roost.api.middleware import NoAuth
from roost.cells.cell import CallLimits, GuardedBus
from roost.cells.limits import HostCalls, HostLimits
from roost.circuit_breaker import PAUSE
from roost.cmd.api import host_calls
from roost.context import RequestContext
from roost.rpc.compute import Compute
from tests.stories.cloud import wait_until

LIMITS = HostLimits(all=5, project=3, host=2)
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


def enter(stack, calls, host, project):
    stack.enter_context(calls.passing(host, project))


def ask(compute, method):
    """Call a method with something for each of its arguments."""
    parameters = list(Compute.methods[method].signature.parameters.values())[2:]
    arguments = {one.name: None for one in parameters if one.default is inspect.Parameter.empty}
    getattr(compute, method)(RequestContext(project_id="p"), **arguments)


@pytest.mark.parametrize("method", BLOCKING)
def test_a_host_that_let_somebody_wait_in_vain_is_not_asked_for_a_while(method):
    clock, bus = Clock(), Hanging()
    guarded = GuardedBus("the bus", bus, CallLimits(), HostCalls(LIMITS, clock=clock))
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
    calls = HostCalls(LIMITS, clock=clock)
    with contextlib.suppress(oslo_messaging.MessagingTimeout), calls.passing("h", "p"):
        raise oslo_messaging.MessagingTimeout
    clock.now += PAUSE
    with contextlib.suppress(exception.Conflict), calls.passing("h", "p"):
        raise exception.Conflict("it answers")
    with calls.passing("h", "p"), calls.passing("h", "p"):
        assert calls.under_way == 2
    assert calls.under_way == 0


def test_each_project_and_each_host_have_their_share_of_those_who_wait():
    calls = HostCalls(LIMITS, patience=0.0)
    with contextlib.ExitStack() as stack:
        for host in ("a", "a", "b"):
            enter(stack, calls, host, "p")
        with pytest.raises(exception.TooMany):
            enter(stack, calls, "c", "p")
        with pytest.raises(exception.Away, match="for a"):
            enter(stack, calls, "a", "q")
        for host in ("b", "c"):
            enter(stack, calls, host, "q")
        with pytest.raises(exception.Away):
            enter(stack, calls, "d", "r")
    assert calls.under_way == 0


def test_others_wait_for_their_turn():
    calls, most = HostCalls(LIMITS), []

    def look(_turn):
        with calls.passing("a", "p"):
            most.append(calls.under_way)
            time.sleep(0.01)

    with futures.ThreadPoolExecutor(12) as pool:
        list(pool.map(look, range(12)))
    assert (len(most), max(most)) == (12, LIMITS.host)


def test_who_waits_for_a_host_takes_no_place_to_work_in():
    calls, waiting = HostCalls(LIMITS, begin=admission.leave_turn), threading.Event()

    def app(environ, start_response):
        with calls.passing("hung", "p") if environ["hangs"] else contextlib.nullcontext():
            if environ["hangs"]:
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
        wait_until(lambda: calls.under_way == 2, "both wait")
        for _ in range(3):
            assert made({"hangs": False}, lambda *_: None) == [b""]
        waiting.set()
        assert [one.result(60) for one in hanging] == [[b""], [b""]]
    assert (made.present, calls.under_way) == (0, 0)


def test_the_api_waits_for_hosts_only_where_it_looks_whether_they_are_up():
    folder = pathlib.Path(api.__file__).parent
    hints = {name for name, method in Compute.methods.items() if method.declared.kind == "cast"}
    for file in folder.rglob("*.py"):
        if file.name == "host_calls.py":
            continue
        for used in re.findall(r"\.compute\.on\([^\n]*?\)\)?\.(\w+)\(", file.read_text()):
            assert used in hints, f"{file.name} waits for {used}: use ServerHosts"


@pytest.mark.parametrize("threads", [2, 16])
def test_no_project_has_all_that_may_wait_for_one_host(threads):
    calls = host_calls(roost.conf.of({"api": {"threads": threads}}))
    calls._patience = 0.0
    with contextlib.ExitStack() as stack:
        for _ in range(threads // 2):
            enter(stack, calls, "h", "p")
        with pytest.raises(exception.TooMany):
            enter(stack, calls, "h", "p")
        enter(stack, calls, "h", "q")
