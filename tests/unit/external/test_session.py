"""With whose right Roost speaks to other services."""

import pytest

from roost import conf, exception
from roost.conf.identity import auth_options, client_options
from roost.external.session import ServiceSessions, own_session, user_session
from tests.builders import a_context
from tests.fakes.keystone import FakeIdentity

GROUP = "weather"


@pytest.fixture(scope="module")
def outside():
    made = FakeIdentity()
    yield made
    made.close()


def _conf(outside, **groups):
    made = conf.load([], files=[])
    made.register_opts(client_options("weather"), group=GROUP)
    for group, user in groups.items():
        made.set_override("auth_type", "v3password", group)
        made.register_opts(auth_options("v3password"), group)
        plugin = {
            "auth_url": f"{outside.url}/v3",
            "username": user,
            "user_domain_id": "default",
            "password": "secret",
        }
        for name, value in plugin.items():
            made.set_override(name, value, group)
    return made


def _asked(session):
    return session.get("/", endpoint_filter={"service_type": "weather"}).json()


def _user(outside):
    return a_context(auth_token="token-of-alice", service_catalog=outside.catalog)


def test_a_user_is_known_by_their_token_at_the_endpoint_of_their_catalog(outside):
    session = user_session(_conf(outside), GROUP, _user(outside))
    assert _asked(session) == {"token": "token-of-alice", "service": None}


def test_our_service_token_goes_with_the_users(outside):
    session = user_session(_conf(outside, service_user="roost"), GROUP, _user(outside))
    assert _asked(session) == {"token": "token-of-alice", "service": "token-of-roost"}


def test_our_own_work_is_done_as_ourselves(outside):
    session = own_session(_conf(outside, weather="observer"), GROUP)
    assert _asked(session) == {"token": "token-of-observer", "service": None}


def test_a_group_that_says_nothing_is_spoken_to_as_the_service_user(outside):
    session = own_session(_conf(outside, service_user="roost"), GROUP)
    assert _asked(session) == {"token": "token-of-roost", "service": None}


def test_who_we_are_is_asked_once(outside):
    identity = ServiceSessions(_conf(outside, service_user="roost"), GROUP)
    before = outside.issued
    for _ in range(3):
        _asked(identity.user_session(_user(outside)))
        _asked(identity.own_session())
    assert outside.issued == before + 1


def test_without_any_way_to_authenticate_it_says_what_to_fill_in(outside):
    with pytest.raises(exception.Unavailable, match=r"\[weather\] nor \[service_user\]"):
        own_session(_conf(outside), GROUP)


def test_a_service_is_asked_as_its_group_says(outside):
    said = {
        "service_name": "rain",
        "region_name": "north",
        "endpoint_override": outside.url,
        "connect_retries": 2,
        "connect_retry_delay": 0.1,
        "status_code_retries": 3,
        "status_code_retry_delay": 0.2,
        "retriable_status_codes": ["503"],
    }
    made = _conf(outside, weather="observer")
    for name, value in said.items():
        made.set_override(name, value, GROUP)
    identity = ServiceSessions(made, GROUP)
    asking = identity.connection(identity.own_session(), "network").network
    found = {name: getattr(asking, name) for name in said}
    assert found == said | {"retriable_status_codes": [503]}
    assert (asking.service_type, asking.interface) == ("weather", ["internal", "public"])


@pytest.mark.parametrize("hasty", [False, True])
def test_connections_are_encrypted_as_the_group_says(outside, hasty):
    made = _conf(outside, weather="observer")
    made.set_override("tls_min_version", "1.3", GROUP)
    made.set_override("tls_ciphers", "HIGH", GROUP)
    adapter = (
        ServiceSessions(made, GROUP, hasty=hasty).own_session().session.get_adapter("https://a")
    )
    assert (adapter.tls_min_version, adapter.tls_ciphers) == ("1.3", "HIGH")
