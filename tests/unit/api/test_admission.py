"""How many requests are worked on, how many wait, who waits for whom, and what is refused."""

import functools
import io
import json
import logging
import threading
from concurrent import futures

import pytest

from roost.api.admission import PIECE, Admission, FairQueue, close
from roost.api.callers import ApiCaller, FairShare, anonymous_caller
from roost.api.middleware import NoAuth, is_upload
from tests.stories.cloud import wait_until


class Work:
    """An application that works until it is told to go on; remembers whom it served."""

    def __init__(self):
        self.served = []
        self.begun = threading.Semaphore(0)
        self._go = threading.Semaphore(0)
        self._open = False
        self.on_call = lambda: None

    def __call__(self, environ, start_response):
        self.on_call()
        self.served.append(environ["caller"])
        self.begun.release()
        if not self._open:
            assert self._go.acquire(timeout=60)
        start_response("200 OK", [])
        return [environ["wsgi.input"].read() if "wsgi.input" in environ else b""]

    def go_on(self, times=1):
        self._go.release(times)

    def open(self):
        self._open = True
        self._go.release(1000)


@pytest.fixture
def work():
    made = Work()
    yield made
    made.open()


@pytest.fixture
def pool(work):
    with futures.ThreadPoolExecutor(32) as made:
        yield made
        work.open()


def by_name(environ):
    return ApiCaller(environ["caller"], proven=True)


def a_gate(
    app, *, at_once=1, waiting=4, share=1.0, unproven=1.0, patience=60, caller=by_name, **more
):
    gate = Admission(
        app,
        at_once=at_once,
        waiting=waiting,
        share=FairShare(proven=share, unproven=unproven),
        max_body=10,
        caller=caller,
        patience=patience,
        **more,
    )
    gate.work = app
    return gate


def request(caller, **environ):
    return {"caller": caller, "REQUEST_METHOD": "GET", **environ}


def ask(gate, caller="a", **environ):
    """Return (status, headers, body)."""
    told = []
    answer = gate(
        request(caller, **environ), lambda status, headers: told.extend((status, headers))
    )
    body = b"".join(answer)
    close(answer)
    return int(told[0].split()[0]), dict(told[1]), body


def begin(gate, pool, *callers):
    """Ask one after the other, each once the one before works or waits."""
    asked = []
    for caller in callers:
        asked.append(pool.submit(ask, gate, caller))
        wait_until(functools.partial(_settled, gate, len(asked)), "the request works or waits")
    return asked


def _settled(gate, asked):
    return gate.present == asked and len(gate.work.served) + gate.waiting == asked


def statuses(asked):
    return [one.result(timeout=60)[0] for one in asked]


def test_no_more_are_worked_on_than_there_are_places(work, pool):
    gate = a_gate(work, at_once=2)
    asked = begin(gate, pool, "a", "b", "c")
    assert (work.served, gate.waiting) == (["a", "b"], 1)
    work.go_on(3)
    assert statuses(asked) == [200, 200, 200]
    assert gate.present == 0


def test_those_who_wait_are_served_in_turn_by_caller(work, pool):
    gate = a_gate(work, waiting=8)
    asked = begin(gate, pool, "flood", "flood", "flood", "flood", "b", "c", "b")
    work.go_on(len(asked))
    assert statuses(asked) == [200] * 7
    assert work.served == ["flood", "flood", "b", "c", "flood", "b", "flood"]


def test_who_comes_when_all_places_are_taken_is_told_at_once_to_come_back(work, pool):
    gate = a_gate(work, waiting=1)
    begin(gate, pool, "a", "b")
    status, headers, body = ask(gate, "c")
    assert (status, headers["Retry-After"]) == (503, "5")
    assert json.loads(body)["serviceUnavailable"]["code"] == 503
    assert headers["x-openstack-request-id"].startswith("req-")


def test_who_has_a_share_of_the_places_gets_no_more_while_others_do(work, pool):
    gate = a_gate(work, waiting=3, share=0.5)
    begin(gate, pool, "a", "a")
    status, headers, body = ask(gate, "a")
    assert (status, headers["Retry-After"]) == (429, "1")
    assert json.loads(body)["overLimit"]["code"] == 429
    begin_b = pool.submit(ask, gate, "b")
    work.open()
    assert begin_b.result(timeout=60)[0] == 200


def test_a_place_is_given_back_when_the_work_fails(pool):
    def fail(_environ, _start_response):
        raise ZeroDivisionError

    gate = a_gate(fail, waiting=0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            ask(gate)
    assert gate.present == 0


def test_who_waited_long_enough_is_told_to_come_back(work, pool):
    gate = a_gate(work, patience=0.05)
    asked = begin(gate, pool, "a")
    assert ask(gate, "b")[0] == 503
    assert (gate.present, gate.waiting) == (1, 0)
    work.open()
    assert statuses(asked) == [200]


def test_a_body_is_read_before_its_request_takes_a_place_to_work_in(work):
    seen = []

    class Slow:
        def read(self, size):
            seen.append((size, len(work.served)))
            return b"ab" if len(seen) < 3 else b""

    work.open()
    gate = a_gate(work)
    environ = {"CONTENT_LENGTH": "5", "wsgi.input": Slow()}
    assert ask(gate, **environ)[2] == b"abab"
    assert seen == [(5, 0), (3, 0), (1, 0)]


def test_a_body_without_length_is_read_to_one_byte_beyond_the_limit(work):
    work.open()
    environ = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    gate = a_gate(work)
    assert ask(gate, **environ, **{"wsgi.input": io.BytesIO(b"x" * 7)})[2] == b"x" * 7
    longer = io.BytesIO(b"x" * 70)
    read = []
    work.on_call = lambda: read.append(longer.tell())
    assert ask(gate, **environ, **{"wsgi.input": longer})[2] == b"x" * 70
    assert read == [11]


@pytest.mark.parametrize("length", ["11", "9" * 400, "0" * 20 + "9" * 400, "-1", "nonsense", "²"])
def test_a_body_that_is_too_long_or_says_nonsense_stays_unread(work, length):
    class Untouchable:
        def read(self, _size=-1):
            return b"only the application reads this"

    work.open()
    environ = {"CONTENT_LENGTH": length, "wsgi.input": Untouchable()}
    assert ask(a_gate(work), **environ)[2] == b"only the application reads this"


def test_a_body_that_breaks_off_is_told_so_and_takes_no_place(work):
    class Broken:
        def read(self, _size):
            raise TimeoutError

    gate = a_gate(work)
    status, _, body = ask(gate, **{"CONTENT_LENGTH": "5", "wsgi.input": Broken()})
    assert (status, gate.present, work.served) == (400, 0, [])
    assert json.loads(body)["badRequest"]["code"] == 400


def test_an_upload_is_left_to_the_application_and_keeps_nobody_from_working(work, pool):
    gate = a_gate(work, is_upload=lambda environ: environ["caller"] == "sender")
    asked = begin(gate, pool, "sender", "a")
    assert work.served == ["sender", "a"]
    work.open()
    assert statuses(asked) == [200, 200]
    data, read = io.BytesIO(b"x" * 70), []
    work.on_call = lambda: read.append(data.tell())
    environ = {"HTTP_TRANSFER_ENCODING": "chunked", "wsgi.input_terminated": True}
    ask(gate, "sender", **environ, **{"wsgi.input": data})
    assert read == [0]


def test_who_has_its_share_of_the_uploads_waits_while_others_upload(work, pool):
    gate = a_gate(work, at_once=8, waiting=8, share=0.5, is_upload=lambda _: True)
    asked = begin(gate, pool, "a", "a", "b")  # of two places for uploads
    assert (work.served, gate.waiting) == (["a", "b"], 1)
    work.go_on()
    wait_until(lambda: gate.waiting == 0, "the next one of a caller that has given back")
    work.open()
    assert statuses(asked) == [200, 200, 200]
    assert sorted(work.served) == ["a", "a", "b"]


@pytest.mark.parametrize(
    ("method", "path", "upload"),
    [
        ("PUT", "/image/v2/images/a/file", True),
        ("PUT", "/image/v2/images/a/file/", True),
        ("GET", "/image/v2/images/a/file", False),
        ("PUT", "/image/v2/images/a/b/file", False),
        ("PUT", "/v2.1/os-services/1", False),
    ],
)
def test_only_an_images_data_is_an_upload(method, path, upload):
    environ = {"REQUEST_METHOD": method, "PATH_INFO": path}
    assert is_upload(environ) == upload


def test_a_flood_writes_one_line_to_the_log(work, pool, caplog):
    gate = a_gate(work, waiting=0)
    begin(gate, pool, "a")
    with caplog.at_level(logging.WARNING):
        assert {ask(gate, "b")[0] for _ in range(50)} == {503}
    assert len(caplog.records) == 1
    work.open()


def test_many_at_once_leave_nothing_behind(work):
    work.open()
    gate = a_gate(work, at_once=2, waiting=30)
    with futures.ThreadPoolExecutor(32) as crowd:
        asked = [crowd.submit(ask, gate, f"caller {n % 5}") for n in range(500)]
        assert set(statuses(asked)) == {200}
    assert (gate.present, gate.waiting) == (0, 0)


@pytest.mark.parametrize(
    ("environ", "told"),
    [
        ({"HTTP_X_AUTH_TOKEN": "alice:blue"}, "project blue"),
        ({"HTTP_X_AUTH_TOKEN": "bob:blue"}, "project blue"),
        ({"HTTP_X_AUTH_TOKEN": "carol"}, "project carol"),
        ({"HTTP_X_AUTH_TOKEN": "notused", "REMOTE_ADDR": "192.0.2.1"}, "address 192.0.2.1"),
        ({"REMOTE_ADDR": "192.0.2.1"}, "address 192.0.2.1"),
        ({}, "address "),
    ],
)
def test_a_caller_is_the_project_or_for_want_of_one_the_address(environ, told):
    assert NoAuth().caller(environ) == ApiCaller(told, proven=told.startswith("project"))


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("2001:db8:1:2:3:4:5:6", "address 2001:db8:1:2::/64"),
        ("2001:db8:1:2::7", "address 2001:db8:1:2::/64"),
        ("fe80::1%eth0", "address fe80::/64"),
        ("::ffff:192.0.2.1", "address 192.0.2.1"),
    ],
)
def test_who_has_one_ipv6_address_has_its_whole_network(address, told):
    assert anonymous_caller({"REMOTE_ADDR": address}).name == told


def test_who_has_proved_nothing_has_a_smaller_share(work, pool):
    gate = a_gate(
        work, waiting=7, share=0.5, unproven=0.25, caller=lambda environ: environ["caller"]
    )
    begin(gate, pool, *[ApiCaller("a", proven=False)] * 2, *[ApiCaller("p", proven=True)] * 3)
    assert ask(gate, ApiCaller("a", proven=False))[0] == 429
    assert ask(gate, ApiCaller("p", proven=True))[0] == 429
    work.open()


def test_no_place_is_free_that_somebody_may_have_who_waits(pool):
    turns, a, b = (
        FairQueue(4, FairShare(0.5, 0.5)),
        ApiCaller("a", proven=True),
        ApiCaller("b", proven=True),
    )
    for caller in (a, a, b):
        assert turns.take(caller, patience=0)
    waiting = [pool.submit(turns.take, caller, patience=60) for caller in (b, a)]
    wait_until(lambda: turns.waiting == 2, "both wait")
    turns.give_back(a)
    turns.give_back(a)
    assert [one.result(timeout=10) for one in waiting] == [True, True]


def test_two_users_whom_a_worker_does_not_know_yet_upload_side_by_side(work, pool):
    gate = a_gate(
        work,
        at_once=16,
        waiting=0,
        share=0.5,
        unproven=0.125,
        caller=lambda environ: ApiCaller(environ["caller"], proven=False),
        is_upload=lambda _environ: True,
    )
    begin(gate, pool, "a", "a")
    assert len(work.served) == 2
    work.open()


def test_two_callers_never_have_all_places_together(work, pool):
    gate = a_gate(work, waiting=7, share=0.5)
    asked = begin(gate, pool, *"aaaabbc")
    assert (ask(gate, "a")[0], ask(gate, "b")[0]) == (429, 429)
    work.open()
    assert statuses(asked) == [200] * 7


def test_who_needs_no_place_is_answered_when_all_are_taken(work, pool):
    gate = a_gate(work, waiting=0, caller=lambda environ: environ["caller"])
    begin(gate, pool, ApiCaller("a", proven=True))
    work.open()
    assert ask(gate, None)[0] == 200


class Long:
    """An application whose answers are so long that they are counted while they are sent."""

    def __init__(self):
        self.closed = 0

    def __call__(self, environ, start_response):
        start_response("200 OK", [])
        return environ.get("pieces", self)

    def __iter__(self):
        return iter([b"x" * (2 * PIECE + 1)])

    def close(self):
        self.closed += 1


def test_a_long_answer_has_a_place_until_it_is_closed():
    gate = a_gate(Long())
    answer = gate(request("a"), lambda *_: None)
    assert (gate.present, gate.sending) == (0, 1)
    assert [len(piece) for piece in answer] == [PIECE, PIECE, 1]
    answer.close()
    answer.close()
    assert (gate.sending, gate.work.closed) == (0, 1)


def test_an_answer_in_a_list_is_counted_when_it_is_long():
    gate = a_gate(Long())
    for pieces, counted in (([b"x"], 0), ([b"x" * 100_000], 1)):
        gate(request("a", pieces=pieces), lambda *_: None)
        assert gate.sending == counted


def test_who_reads_no_long_answer_gets_no_more_of_them_and_others_do():
    gate = a_gate(Long(), at_once=1, share=0.5)  # four long answers, two of one caller
    unread = [gate(request("a"), lambda *_: None) for _ in range(2)]
    status, headers, _ = ask(gate, "a")
    assert (status, headers["Retry-After"]) == (429, "1")
    assert gate.work.closed == 1
    assert ask(gate, "a", pieces=[b"short"])[0] == 200
    assert ask(gate, "b")[0] == 200
    unread.extend(gate(request(name), lambda *_: None) for name in "bc")
    assert ask(gate, "d")[0] == 503
    for answer in unread:
        answer.close()
    assert ask(gate, "a")[0] == 200


def test_the_answer_to_what_changed_something_is_never_refused():
    gate = a_gate(Long(), at_once=1, share=0.25)
    gate(request("a"), lambda *_: None)
    assert ask(gate, "a", REQUEST_METHOD="POST")[0] == 200
