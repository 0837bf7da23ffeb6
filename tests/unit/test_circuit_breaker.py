"""What stands before something that may not answer, by its own clock."""

import contextlib
import threading

import pytest

from roost import exception
from roost.circuit_breaker import CROWD, FOREVER, PAUSE, CircuitBreaker

PATIENCE = 60


class Part:
    """A part of a cell, its breaker, and the thread that probes whether it is back."""

    def __init__(self, **options):
        self.now = 0.0
        self.answers = True
        self.asked_at = []
        self.pauses = []
        self.looks = []
        self.breaker = CircuitBreaker(
            "the part",
            self._ask,
            timeout=4.0,
            pause=0.5,
            longest_pause=3.0,
            **options,
            clock=lambda: self.now,
            spawn=self.looks.append,
            wait=self._pause,
        )

    def use(self):
        with self.breaker.passing() as guarded_call:
            if not self.answers:
                error = exception.Unavailable("no route")
                guarded_call.blame(error)
                raise error

    def fail(self):
        self.answers = False
        with pytest.raises(exception.Unavailable):
            self.use()

    def look(self):
        """Do what the thread does that was begun last."""
        self.looks.pop()()

    def _ask(self):
        self.asked_at.append(self.now)
        if not self.answers:
            raise exception.Unavailable("no route")

    def _pause(self, seconds):
        self.pauses.append(seconds)
        self.now += seconds
        self.answers = self.answers or self.now >= 10
        return False


@pytest.fixture
def part():
    return Part()


def enter(breaker, release):
    """Be inside until ``release`` is set; return once inside."""
    inside = threading.Event()

    def stay():
        with breaker.passing():
            inside.set()
            release.wait(PATIENCE)

    thread = threading.Thread(target=stay)
    thread.start()
    assert inside.wait(PATIENCE)
    return thread


def test_while_the_part_answers_everybody_passes(part):
    for _ in range(3):
        part.use()
    assert not part.breaker.is_open
    assert part.looks == []


def test_the_first_failure_opens_it_and_then_everybody_is_refused_at_once(part):
    part.fail()
    part.now = 2.5
    with pytest.raises(exception.Away, match=r"the part is unavailable, for 2\.5 s now: no route"):
        part.use()


def test_what_else_fails_in_a_use_opens_nothing(part):
    with pytest.raises(ZeroDivisionError), part.breaker.passing():
        _ = 1 // 0
    assert not part.breaker.is_open


def test_one_thread_looks_whether_the_part_is_back_however_many_have_failed(part):
    with contextlib.ExitStack() as inside:
        passages = [inside.enter_context(part.breaker.passing()) for _ in range(3)]
        for guarded_call in passages:
            guarded_call.blame(exception.Unavailable("no route"))
    assert part.breaker.is_open
    assert len(part.looks) == 1


def test_nobody_passes_while_it_is_looked(part):
    part.fail()
    refused = []

    def ask():
        with pytest.raises(exception.Away):
            part.use()
        refused.append(True)

    part.breaker._probe = ask
    part.look()
    assert refused


def test_an_accident_is_over_at_the_first_look(part):
    part.fail()
    part.answers = True
    part.look()
    assert part.pauses == []
    part.use()


def test_the_looks_follow_each_other_more_and_more_slowly(part):
    part.fail()
    part.look()
    assert part.pauses == [0.5, 1.0, 2.0, 3.0, 3.0, 3.0]
    assert not part.breaker.is_open
    part.use()


def test_it_opens_again_when_the_part_fails_again(part):
    part.fail()
    part.answers = True
    part.look()
    part.fail()
    assert part.breaker.is_open
    assert len(part.looks) == 1


def test_a_failure_from_before_it_closed_does_not_open_it_again(part):
    with part.breaker.passing() as late:
        part.now = 1.0
        part.fail()
        part.answers = True
        part.look()
        late.blame(exception.Unavailable("the old connection broke"))
    assert not part.breaker.is_open


def test_a_look_that_breaks_is_followed_by_the_next(part):
    part.fail()
    answers = iter([ZeroDivisionError(), None])

    def ask():
        error = next(answers)
        if error:
            raise error

    part.breaker._probe = ask
    part.look()
    assert not part.breaker.is_open


def test_a_breaker_that_is_closed_down_looks_no_more(part):
    part.breaker._wait = lambda _seconds: True
    part.fail()
    part.look()
    assert len(part.asked_at) == 1


def test_a_crowd_before_a_part_that_lets_nobody_go_does_not_grow(part):
    with contextlib.ExitStack() as inside:
        for _ in range(CROWD):
            inside.enter_context(part.breaker.passing())
        part.now = 1.9
        part.use()
        part.now = 4.0
        with pytest.raises(exception.Away, match="has not answered any call"):
            part.use()
    part.use()
    assert not part.breaker.is_open


def test_who_waits_for_their_turn_gets_it():
    part, release = Part(concurrency=1), threading.Event()
    first = enter(part.breaker, release)
    threading.Timer(0.01, release.set).start()
    part.use()
    first.join()


def test_who_waits_for_their_turn_is_refused_when_the_part_goes_away():
    part, release = Part(concurrency=1), threading.Event()
    refused = []

    def wait():
        try:
            part.use()
        except exception.Away as error:
            refused.append(error.message)

    waiting = threading.Thread(target=wait)
    with contextlib.suppress(exception.Unavailable), part.breaker.passing() as guarded_call:
        waiting.start()
        while not part.breaker._change._waiters:
            release.wait(0.001)
        guarded_call.blame(exception.Unavailable("no route"))
    waiting.join(PATIENCE)
    assert refused == ["the part is unavailable, for 0.0 s now: no route"]


def test_by_itself_it_looks_in_a_thread_until_the_part_is_back():
    back = threading.Event()

    def ask():
        if not back.is_set():
            raise exception.Unavailable("no route")

    breaker = CircuitBreaker("the part", ask, pause=0.01)
    with breaker.passing() as guarded_call:
        guarded_call.blame(exception.Unavailable("no route"))
    assert breaker.is_open
    back.set()
    tried = threading.Event()
    while breaker.is_open:
        tried.wait(0.01)
    with breaker.passing():
        pass


def test_who_did_not_pass_may_say_that_it_does_not_answer(part):
    part.breaker.trip("no route")
    part.breaker.trip("again")
    with pytest.raises(exception.Away, match="no route"):
        part.breaker.check()
    assert len(part.looks) == 1
    part.look()
    part.breaker.check()


def test_a_breaker_that_is_closed_down_opens_no_more(part):
    part.breaker.close()
    part.breaker.trip("no route")
    assert not part.breaker.is_open


class Service:
    """Something that only a call can find out about, each with its own timeout."""

    def __init__(self):
        self.now = 1000.0
        self.breaker = CircuitBreaker("glance:9292", clock=lambda: self.now)

    def passing(self, timeout=10.0):
        return self.breaker.passing(timeout)

    def hang(self):
        with self.passing() as call:
            self.now += 10.0
            call.blame("its time ran out")

    def refuses(self):
        try:
            with self.passing():
                return False
        except exception.Away:
            return True


@pytest.fixture
def service():
    return Service()


def test_without_a_probe_all_are_refused_for_a_pause(service):
    service.hang()
    assert service.refuses()
    service.now += PAUSE - 0.1
    assert service.refuses()
    service.now += 0.1
    assert not service.refuses()


def test_after_the_pause_one_is_let_through_and_the_others_follow_its_answer(service):
    service.hang()
    service.now += PAUSE
    with service.passing():
        assert service.refuses()
    assert not service.breaker.is_open
    assert not service.refuses()


def test_when_it_still_hangs_there_is_another_pause(service):
    service.hang()
    service.now += PAUSE
    service.hang()
    assert service.refuses()
    service.now += PAUSE
    assert not service.refuses()


def test_what_else_fails_is_an_answer(service):
    service.hang()
    service.now += PAUSE
    with pytest.raises(ZeroDivisionError), service.passing():
        _ = 1 // 0
    assert not service.refuses()


def test_a_crowd_of_whom_one_is_answered_is_only_busy(service):
    with contextlib.ExitStack() as inside:
        for _ in range(CROWD):
            inside.enter_context(service.passing())
        answered = service.passing()
        answered.__enter__()
        service.now += 5.1
        answered.__exit__(None, None, None)
        assert not service.refuses()
        service.now += 5.1
        assert service.refuses()


def test_who_waits_for_ever_makes_no_crowd(service):
    with contextlib.ExitStack() as inside:
        for _ in range(CROWD):
            inside.enter_context(service.passing(FOREVER))
        service.now += 1e6
        assert not service.refuses()
