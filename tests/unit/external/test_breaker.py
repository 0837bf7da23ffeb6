"""A service that hangs costs one wait; then requests to it fail at once, for a pause."""

import contextlib

import pytest
import requests
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import session

from roost.external import session as external_session
from roost.external.session import CROWD, PAUSE, Adapter, Hanging, ServiceBreaker
from tests.fakes import unresponsive_server

TIMEOUT = 10.0


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def hurdle(clock):
    return ServiceBreaker("glance:9292", clock=clock)


def hang(hurdle, clock, error=requests.ReadTimeout):
    with contextlib.suppress(error), hurdle.passing(TIMEOUT):
        clock.now += TIMEOUT
        raise error


def is_refused(hurdle):
    try:
        with hurdle.passing(TIMEOUT):
            return False
    except Hanging:
        return True


def test_what_answers_is_let_pass(hurdle):
    assert not any(is_refused(hurdle) for _ in range(3))


@pytest.mark.parametrize("error", [requests.ReadTimeout, requests.ConnectTimeout])
def test_after_a_wait_for_nothing_all_are_refused_for_a_pause(hurdle, clock, error):
    hang(hurdle, clock, error)
    assert is_refused(hurdle)
    clock.now += PAUSE - 0.1
    assert is_refused(hurdle)
    clock.now += 0.1
    assert not is_refused(hurdle)


@pytest.mark.parametrize("error", [requests.ConnectionError, requests.exceptions.SSLError, OSError])
def test_what_fails_at_once_costs_nothing_and_is_tried_each_time(hurdle, error):
    with pytest.raises(error), hurdle.passing(TIMEOUT):
        raise error
    assert not is_refused(hurdle)


def test_after_the_pause_one_is_let_through_and_the_others_learn_from_it(hurdle, clock):
    hang(hurdle, clock)
    clock.now += PAUSE
    with hurdle.passing(TIMEOUT):
        assert is_refused(hurdle)
    assert not is_refused(hurdle)


def test_when_it_still_hangs_there_is_another_pause(hurdle, clock):
    hang(hurdle, clock)
    clock.now += PAUSE
    hang(hurdle, clock)
    assert is_refused(hurdle)
    clock.now += PAUSE
    assert not is_refused(hurdle)


def test_a_service_that_refuses_connections_by_now_hangs_no_more(hurdle, clock):
    hang(hurdle, clock)
    clock.now += PAUSE
    with pytest.raises(requests.ConnectionError), hurdle.passing(TIMEOUT):
        raise requests.ConnectionError
    assert not is_refused(hurdle)


def test_a_crowd_that_nobody_answers_is_not_joined(hurdle, clock):
    """Before the first has waited its timeout out."""
    with contextlib.ExitStack() as inside:
        for _ in range(CROWD):
            inside.enter_context(hurdle.passing(TIMEOUT))
        assert not is_refused(hurdle)
        clock.now += TIMEOUT / 2 + 0.1
        assert is_refused(hurdle)
    assert not is_refused(hurdle)


def test_a_crowd_of_whom_one_is_answered_is_only_busy(hurdle, clock):
    with contextlib.ExitStack() as inside:
        for _ in range(CROWD):
            inside.enter_context(hurdle.passing(TIMEOUT))
        answered = hurdle.passing(TIMEOUT)
        answered.__enter__()
        clock.now += TIMEOUT / 2 + 0.1
        answered.__exit__(None, None, None)
        assert not is_refused(hurdle)


def test_who_waits_for_ever_makes_no_crowd(hurdle, clock):
    with contextlib.ExitStack() as inside:
        for _ in range(CROWD):
            inside.enter_context(hurdle.passing(None))
        clock.now += 1e6
        assert not is_refused(hurdle)


def test_a_listener_that_never_answers_is_connected_to_once():
    with (
        unresponsive_server.listening() as hanging,
        external_session.sending(Adapter, connections=4) as sending,
    ):
        asking = session.Session(session=sending, timeout=0.2)
        for _ in range(2):
            with pytest.raises(keystone_errors.ClientException, match="does not answer"):
                asking.get(hanging.url, connect_retries=3)
        assert hanging.connections == 1


def test_places_hang_each_for_itself():
    with (
        unresponsive_server.listening() as one,
        unresponsive_server.listening() as other,
        external_session.sending(Adapter, connections=4) as sending,
    ):
        for place in (one, other, one, other):
            with pytest.raises(requests.RequestException):
                sending.get(place.url, timeout=(0.2, 0.2))
        assert (one.connections, other.connections) == (1, 1)
