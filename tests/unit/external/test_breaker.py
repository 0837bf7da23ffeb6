"""A service that hangs costs one wait; then requests to it fail at once, for a pause."""

import pytest
import requests
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1 import session

from roost.external import session as external_session
from roost.external.session import Adapter, Hanging
from tests.fakes import unresponsive_server


@pytest.mark.parametrize("error", [requests.ConnectionError, requests.exceptions.SSLError, OSError])
def test_what_fails_at_once_costs_nothing_and_is_tried_each_time(monkeypatch, error):
    tried = []

    def fail(*_args, **_more):
        tried.append(1)
        raise error

    monkeypatch.setattr(session.TCPKeepAliveAdapter, "send", fail)
    adapter = Adapter()
    for _ in range(2):
        with pytest.raises(error):
            adapter.send(requests.Request("GET", "http://glance:9292/").prepare(), timeout=1)
    assert len(tried) == 2


@pytest.mark.parametrize("error", [requests.ReadTimeout, requests.ConnectTimeout])
def test_a_wait_for_nothing_is_not_repeated(monkeypatch, error):
    def fail(*_args, **_more):
        raise error

    monkeypatch.setattr(session.TCPKeepAliveAdapter, "send", fail)
    adapter = Adapter()
    for expected in (error, Hanging):
        with pytest.raises(expected):
            adapter.send(requests.Request("GET", "http://glance:9292/").prepare(), timeout=(1, 2))


def test_a_listener_that_never_answers_is_connected_to_once():
    with (
        unresponsive_server.listening() as hanging,
        external_session.sending(Adapter, connections=4) as sending,
    ):
        asking = session.Session(session=sending, timeout=0.2)
        for _ in range(2):
            with pytest.raises(keystone_errors.ClientException, match="is unavailable"):
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
