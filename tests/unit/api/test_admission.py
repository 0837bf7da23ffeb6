"""How many requests are worked on, how many wait, who waits for whom, and what is refused."""

import json
import logging
import threading
import time
from concurrent import futures

import pytest

from roost.api.admission import UNKNOWN, Admission
from roost.api.middleware import NoAuth
from tests.stories.cloud import wait_until


class Work:
    """An application that works until it is told to go on; remembers whom it served."""

    def __init__(self):
        self.served = []
        self._go = threading.Semaphore(0)
        self._open = False

    def __call__(self, environ, start_response):
        self.served.append(environ["caller"])
        if not self._open:
            assert self._go.acquire(timeout=60)
        start_response("200 OK", [])
        return environ.get("pieces", [b""])

    def go_on(self, times=1):
        self._go.release(times)

    def open(self):
        self._open = True
        self._go.release(1000)


class Directory:
    """Knows each caller by name; those in ``unknown`` must be asked about, which takes a while."""

    def __init__(self):
        self.unknown = set()
        self.asking = self.asked = 0
        self.most = 0
        self.answer = threading.Event()
        self._lock = threading.Lock()

    def caller(self, environ):
        return UNKNOWN if environ["caller"] in self.unknown else environ["caller"]

    def identify(self, environ):
        with self._lock:
            self.asked += 1
            self.asking += 1
            self.most = max(self.most, self.asking)
        assert self.answer.wait(60)
        with self._lock:
            self.asking -= 1
        return None if environ["caller"].startswith("made up") else environ["caller"]


@pytest.fixture
def work():
    made = Work()
    yield made
    made.open()


@pytest.fixture
def directory():
    made = Directory()
    yield made
    made.answer.set()


@pytest.fixture
def pool(work, directory):
    with futures.ThreadPoolExecutor(64) as made:
        yield made
        work.open()
        directory.answer.set()


@pytest.fixture
def admission_of(work, directory):
    def admission_of(app=work, *, at_once=1, waiting=4, share=1.0, patience=60):
        return Admission(
            app,
            at_once=at_once,
            waiting=waiting,
            share=share,
            callers=directory,
            patience=patience,
        )

    return admission_of


def ask(admission, caller="a", **environ):
    """Return (status, headers, body)."""
    started = []
    environ = {"caller": caller, "REQUEST_METHOD": "GET", **environ}
    answer = admission(environ, lambda status, headers: started.extend((status, headers)))
    body = b"".join(answer)
    return int(started[0].split()[0]), dict(started[1]), body


def begin(admission, work, pool, *callers):
    """Ask one after the other, each once the one before works or waits; the first works."""
    asked = []
    for caller in callers:
        asked.append(pool.submit(ask, admission, caller))
        wait_until(
            lambda: admission.present == len(asked) and work.served, "the request works or waits"
        )
    return asked


def statuses(asked):
    return [one.result(timeout=60)[0] for one in asked]


def test_no_more_are_worked_on_than_there_are_turns(admission_of, work, pool):
    admission = admission_of(at_once=2)
    asked = begin(admission, work, pool, "a", "b", "c")
    wait_until(lambda: len(work.served) == 2, "two work")
    time.sleep(0.05)  # the third waits
    assert len(work.served) == 2
    work.go_on()
    wait_until(lambda: len(work.served) == 3, "the third works")
    work.go_on(2)
    assert statuses(asked) == [200, 200, 200]
    assert admission.present == 0


def test_one_that_floods_leaves_turns_to_others(admission_of, work, pool):
    admission = admission_of(at_once=4, waiting=12, share=0.5)
    asked = begin(admission, work, pool, *["flood"] * 6, "b", "c")
    wait_until(lambda: len(work.served) == 4, "the others work")
    assert sorted(work.served) == ["b", "c", "flood", "flood"]
    work.open()
    assert statuses(asked) == [200] * 8


def test_who_comes_when_all_places_are_taken_is_told_at_once_to_come_back(admission_of, work, pool):
    admission = admission_of(waiting=1)
    begin(admission, work, pool, "a", "b")
    status, headers, body = ask(admission, "c")
    assert (status, headers["Retry-After"]) == (503, "5")
    assert json.loads(body)["serviceUnavailable"]["code"] == 503
    assert headers["x-openstack-request-id"].startswith("req-")


def test_who_has_a_share_of_the_places_gets_no_more_while_others_do(admission_of, work, pool):
    admission = admission_of(waiting=3, share=0.5)
    begin(admission, work, pool, "a", "a")
    status, headers, body = ask(admission, "a")
    assert (status, headers["Retry-After"]) == (429, "1")
    assert json.loads(body)["overLimit"]["code"] == 429
    asked = pool.submit(ask, admission, "b")
    work.open()
    assert asked.result(timeout=60)[0] == 200


def test_two_callers_never_have_all_places_together(admission_of, work, pool):
    admission = admission_of(waiting=7, share=0.5)
    asked = begin(admission, work, pool, *"aaaabbc")
    assert (ask(admission, "a")[0], ask(admission, "b")[0]) == (429, 429)
    work.open()
    assert statuses(asked) == [200] * 7


def test_a_place_is_given_back_when_the_work_fails(admission_of):
    def fail(_environ, _start_response):
        raise ZeroDivisionError

    admission = admission_of(fail, waiting=0)
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            ask(admission)
    assert admission.present == 0


def test_who_waited_long_enough_is_told_to_come_back(admission_of, work, pool):
    admission = admission_of(patience=0.05)
    asked = begin(admission, work, pool, "a")
    assert ask(admission, "b")[0] == 503
    assert admission.present == 1
    work.open()
    assert statuses(asked) == [200]


def test_an_answer_that_is_made_as_it_is_sent_keeps_its_place_but_not_its_turn(admission_of, work):
    work.open()
    admission = admission_of(waiting=1)
    answer = admission({"caller": "a", "pieces": iter([b"x", b"y"])}, lambda *_: None)
    assert admission.present == 1
    assert ask(admission, "b")[0] == 200
    assert list(answer) == [b"x", b"y"]
    answer.close()
    answer.close()
    assert admission.present == 0


def test_who_needs_no_place_is_answered_when_all_are_taken(admission_of, work, pool):
    admission = admission_of(waiting=0)
    begin(admission, work, pool, "a")
    work.open()
    assert ask(admission, None)[0] == 200


def test_two_hundred_users_with_new_tokens_are_served(admission_of, work, directory):
    work.open()
    directory.answer.set()
    users = [f"user {number}" for number in range(200)]
    directory.unknown = set(users)
    admission = admission_of(at_once=16, waiting=240, share=0.5)
    with futures.ThreadPoolExecutor(len(users)) as crowd:
        asked = [crowd.submit(ask, admission, user) for user in users]
        assert statuses(asked) == [200] * len(users)
    assert directory.asked == len(users)
    assert directory.most <= 16


def test_made_up_tokens_keep_nobody_out_who_is_known(admission_of, work, directory, pool):
    work.open()
    tokens = [f"made up {number}" for number in range(40)]
    directory.unknown = set(tokens)
    admission = admission_of(at_once=4, waiting=16, share=0.5)
    flood = [pool.submit(ask, admission, token) for token in tokens]
    wait_until(lambda: sum(one.done() for one in flood) == 24, "those beyond their share")
    assert directory.most == 4  # questions at once
    assert [ask(admission, name)[0] for name in "abc"] == [200, 200, 200]
    directory.answer.set()
    assert sorted(statuses(flood)) == [200] * 16 + [503] * 24  # the application refuses the first
    assert admission.present == 0


def test_a_flood_writes_one_line_to_the_log(admission_of, work, pool, caplog):
    admission = admission_of(waiting=0)
    begin(admission, work, pool, "a")
    with caplog.at_level(logging.WARNING):
        assert {ask(admission, "b")[0] for _ in range(50)} == {503}
    assert len(caplog.records) == 1


def test_many_at_once_leave_nothing_behind(admission_of, work):
    work.open()
    admission = admission_of(at_once=2, waiting=30)
    with futures.ThreadPoolExecutor(32) as crowd:
        asked = [crowd.submit(ask, admission, f"caller {n % 5}") for n in range(500)]
        assert set(statuses(asked)) == {200}
    assert admission.present == 0


@pytest.mark.parametrize(
    ("token", "caller"),
    [
        ("alice:blue", "project blue"),
        ("bob:blue", "project blue"),
        ("carol", "project carol"),
        ("notused", "project admin"),
        (None, "project admin"),
    ],
)
def test_without_keystone_a_token_names_its_project(token, caller):
    assert NoAuth().caller({"HTTP_X_AUTH_TOKEN": token}) == caller
