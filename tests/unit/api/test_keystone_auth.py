"""Who asks, by a token that Keystone is asked about; Keystone is a fake one here."""

import sys

import falcon
import falcon.testing
import pytest

from roost import conf, exception
from roost.api import faults, middleware
from roost.api.admission import UNKNOWN
from roost.api.keystone_auth import GROUP, Keystone, Remembered
from roost.api.policy import Policy
from roost.api.routes import OPEN_PATHS
from roost.standalone.tables import list_rules
from tests.fakes.keystone import FakeIdentity

ALICE, GLANCE = "token-of-alice", "token-of-glance"


@pytest.fixture(scope="module")
def identity():
    made = FakeIdentity()
    made.knows(ALICE, "member", "reader")
    made.knows("token-of-root", "admin")
    made.knows("token-of-late", "member", seconds=-5)
    made.knows("token-of-system", "admin", system={"all": True})
    made.knows("token-of-unscoped", user_only=True)
    made.knows(GLANCE, "service")
    yield made
    made.close()


def _conf(url, **more):
    authentication = {
        "auth_type": "v3password",
        "auth_url": f"{url}/v3",
        "username": "roost",
        "user_domain_id": "default",
        "password": "secret",
    }
    settings = {"www_authenticate_uri": "http://keystone.example", "service_token_roles": "service"}
    return settings | authentication | more


@pytest.fixture
def keystone_of(tmp_path):
    def keystone_of(url, **more):
        lines = [f"{name} = {value}" for name, value in _conf(url, **more).items()]
        path = tmp_path / "roost.conf"
        path.write_text("\n".join([f"[{GROUP}]", *lines]))
        loaded = conf.load([], files=[str(path)])
        return Keystone(loaded, policy=Policy(loaded, list_rules()), open_paths=OPEN_PATHS)

    return keystone_of


class _Told:
    """Keeps the context of the last request."""

    def on_get(self, req, resp):
        self.context = req.context.caller


class Door:
    def __init__(self, keystone):
        self.told = _Told()
        self.app = app = falcon.App(middleware=[middleware.RequestIds(), keystone])
        faults.install(app)
        for path in ("/things", *OPEN_PATHS):
            app.add_route(path, self.told)
        self._client = falcon.testing.TestClient(app)

    def ask(self, token=None, path="/things", **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if token is not None:
            named["X-Auth-Token"] = token
        return self._client.simulate_get(path, headers=named)

    def context_of(self, token, **headers):
        answer = self.ask(token, **headers)
        assert answer.status_code == 200, answer.text
        return self.told.context


@pytest.fixture
def door(identity, keystone_of):
    return Door(keystone_of(identity.url))


def test_the_context_is_made_of_what_keystone_says(door):
    alice = door.context_of(ALICE)
    assert (alice.user_id, alice.user_name, alice.project_id) == ("alice-id", "alice", "blue")
    assert (alice.user_domain_id, alice.project_domain_id) == ("default", "default")
    assert (alice.roles, alice.is_admin, alice.is_admin_project) == (
        ["member", "reader"],
        False,
        True,
    )
    assert alice.request_id.startswith("req-")


def test_the_token_and_where_other_services_are_go_with_the_context(door, identity):
    alice = door.context_of(ALICE)
    assert alice.auth_token == ALICE
    assert alice.service_catalog == [identity.service("image")]


def test_a_token_for_the_whole_system_says_so(door):
    system = door.context_of("token-of-system")
    assert (system.system_scope, system.project_id) == ("all", None)


def test_a_service_that_asks_for_a_user_is_known_as_well(door):
    alice = door.context_of(ALICE, X_Service_Token=GLANCE)
    assert (alice.user_id, alice.roles) == ("alice-id", ["member", "reader"])
    assert (alice.service_user_id, alice.service_roles) == ("glance-id", ["service"])
    assert alice.service_token == GLANCE
    assert alice.system_scope is None


def test_a_service_may_finish_what_a_token_began_that_ran_out(door):
    assert door.ask("token-of-late").status_code == 401
    assert door.ask("token-of-late", X_Service_Token=GLANCE).status_code == 200


def test_the_token_of_a_user_is_no_service_token(door):
    assert door.ask(ALICE, X_Service_Token=ALICE).status_code == 401


@pytest.mark.parametrize("token", [None, "", "nonsense", "admin:admin"])
def test_who_has_no_valid_token_is_told_where_to_get_one(door, token):
    refused = door.ask(token)
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == 'Keystone uri="http://keystone.example"'
    assert refused.json["unauthorized"]["code"] == 401
    assert refused.headers["x-openstack-request-id"].startswith("req-")


def test_who_says_to_be_known_already_is_not_believed(door):
    forged = {"X_Identity_Status": "Confirmed", "X_Roles": "admin", "X_User_Id": "alice-id"}
    assert door.ask(**forged, OpenStack_System_Scope="all").status_code == 401
    alice = door.context_of(ALICE, OpenStack_System_Scope="all", X_Roles="admin")
    assert (alice.system_scope, alice.roles) == (None, ["member", "reader"])


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
def test_what_is_open_needs_no_token_and_asks_nobody(door, identity, path):
    before = identity.asked
    assert door.ask("nonsense", path).status_code == 200
    assert (door.told.context.roles, door.told.context.is_admin) == ([], False)
    assert identity.asked == before


@pytest.mark.parametrize("failure", [401, 500, 503])
def test_while_keystone_is_out_of_order_it_is_not_the_callers_fault(door, identity, failure):
    identity.failure = failure
    try:
        assert door.ask("token-of-somebody").status_code == 503
    finally:
        identity.failure = None


def test_while_keystone_is_away_it_is_not_the_callers_fault(keystone_of):
    nowhere = keystone_of("http://127.0.0.1:1", http_request_max_retries=0)
    answer = Door(nowhere).ask(ALICE)
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert "127.0.0.1" not in answer.text


def test_keystone_is_asked_once_about_a_token(door, identity):
    door.ask(ALICE)
    before = identity.asked
    for _ in range(5):
        assert door.ask(ALICE).status_code == 200
    assert identity.asked == before


@pytest.mark.parametrize(
    ("token", "whose"),
    [(ALICE, "project blue"), ("token-of-unscoped", "user unscoped-id"), ("made up", None)],
)
def test_keystone_says_once_whose_places_a_request_takes(identity, keystone_of, token, whose):
    keystone = keystone_of(identity.url)
    asked = falcon.testing.create_environ("/things", headers={"X-Auth-Token": token})
    assert keystone.caller(asked) == UNKNOWN
    assert keystone.identify(asked) == whose
    assert keystone.caller(asked) == (whose or UNKNOWN)
    before = identity.asked
    start = falcon.testing.StartResponseMock()
    Door(keystone).app(asked, start)
    assert (start.status[:3], identity.asked) == ("200" if whose else "401", before)


@pytest.mark.parametrize(("token", "path"), [(None, "/v2.1/servers"), ("nonsense", "/")])
def test_what_costs_nothing_takes_no_place(identity, keystone_of, token, path):
    asked = {"HTTP_X_AUTH_TOKEN": token, "PATH_INFO": path}
    assert keystone_of(identity.url).caller(asked) is None


def test_without_a_way_to_keystone_it_says_what_to_fill_in():
    loaded = conf.load([], files=[])
    with pytest.raises(exception.Invalid, match=r"\[keystone_authtoken\] has no auth_type"):
        Keystone(loaded, policy=Policy(loaded, list_rules()), open_paths=())


@pytest.mark.parametrize(
    ("more", "module"),
    [
        ({}, "memcache"),
        ({"memcache_use_advanced_pool": "false"}, "memcache"),
        ({"memcache_sasl_enabled": "true"}, "bmemcached"),
        ({"memcache_tls_enabled": "true"}, "bmemcached"),
    ],
)
def test_a_cache_without_its_client_is_told_before_the_first_token(
    identity, keystone_of, monkeypatch, more, module
):
    monkeypatch.setitem(sys.modules, module, None)
    named = rf"memcached_servers: {module} is not installed: pip install 'roost\[memcached\]'"
    with pytest.raises(exception.Invalid, match=named):
        keystone_of(identity.url, memcached_servers="127.0.0.1:1", **more)


@pytest.mark.parametrize("way", ["v3kerberos", "v3oauth1"])
def test_a_way_to_keystone_whose_packages_are_missing_is_told(identity, keystone_of, way):
    with pytest.raises(exception.Invalid, match=rf"auth_type = {way}: .* pip install"):
        keystone_of(identity.url, auth_type=way)


class TestRemembered:
    def test_a_value_is_kept_for_its_time(self):
        now = [0.0]
        remembered = Remembered(5, now=lambda: now[0])
        remembered.set("a", "b", time=10)
        now[0] = 9.0
        assert remembered.get("a") == "b"
        now[0] = 10.0
        assert remembered.get("a") is None

    def test_what_has_no_time_is_not_kept(self):
        remembered = Remembered(5)
        remembered.set("a", "b", time=-1)
        assert remembered.get("a") is None

    def test_the_one_used_longest_ago_makes_room(self):
        remembered = Remembered(2)
        for key in ("a", "b"):
            remembered.set(key, key, time=10)
        remembered.get("a")
        remembered.set("c", "c", time=10)
        assert [remembered.get(key) for key in "abc"] == ["a", None, "c"]
