import pytest

from roost.api.compute import flavors as compute_flavors
from roost.api.policy import Policy
from roost.db.api import flavors
from tests.api_harness import ALICE, IMAGE, PRIVATE
from tests.builders import a_flavor

_BODY = {"name": "big", "ram": 4096, "vcpus": 2, "disk": 20}


def _create(client, version="2.61", **values):
    return client.post("/v2.1/flavors", {"flavor": _BODY | values}, version=version)


def _names(answer):
    return [flavor["name"] for flavor in answer.json["flavors"]]


def test_a_created_flavor_is_shown(client):
    created = _create(client, id="big", swap=512, description="roomy").json["flavor"]
    assert created == client.get("/v2.1/flavors/big", version="2.61").json["flavor"]
    assert created["OS-FLV-EXT-DATA:ephemeral"] == 0
    assert created["swap"] == 512
    assert created["description"] == "roomy"


@pytest.mark.parametrize("identity", [None, "auto"])
def test_a_flavor_without_an_id_gets_one(client, identity):
    assert len(_create(client, id=identity).json["flavor"]["id"]) == 36


def test_numbers_written_as_words_have_bounds_too(client):
    assert _create(client, ram="99999999999").status_code == 400
    assert _create(client, ram="4294967296").status_code == 400
    assert _create(client, vcpus="0").status_code == 400


def test_hidden_flavors_are_for_administrators(client):
    _create(client, id="secret", **{"os-flavor-access:is_public": False})
    assert client.get("/v2.1/flavors/secret", token=ALICE).status_code == 404
    assert _names(client.get("/v2.1/flavors?is_public=none", token=ALICE)) == ["m1.tiny"]
    assert _names(client.get("/v2.1/flavors?is_public=none")) == ["m1.tiny", "big"]
    assert _names(client.get("/v2.1/flavors?is_public=false")) == ["big"]


def test_flavors_are_listed_by_size(client):
    _create(client)
    assert _names(client.get("/v2.1/flavors/detail?minRam=1024")) == ["big"]
    assert _names(client.get("/v2.1/flavors?minDisk=21")) == []
    assert _names(client.get("/v2.1/flavors?sort_key=memory_mb&sort_dir=desc")) == [
        "big",
        "m1.tiny",
    ]


def test_pages_are_linked_until_the_last(client):
    for number in range(6):
        _create(client, name=f"f{number}", id=f"f{number}")
    seen, path = [], "/v2.1/flavors?limit=3"
    while path:
        answer = client.get(path)
        seen += _names(answer)
        links = answer.json.get("flavors_links", [])
        path = links[0]["href"].removeprefix("http://falconframework.org") if links else None
    assert seen == ["m1.tiny", "f0", "f1", "f2", "f3", "f4", "f5"]


@pytest.mark.parametrize("version", ["2.1", "2.75", "2.102"])
def test_a_weight_that_no_flavor_has_orders_nothing(client, version):
    answer = client.get("/v2.1/flavors?sort_key=vcpu_weight&limit=1", version=version)
    assert (answer.status_code, _names(answer)) == (200, ["m1.tiny"])


def test_a_marker_that_is_no_flavor_is_refused(client):
    assert client.get("/v2.1/flavors?marker=none").status_code == 400


def test_extra_specs_come_and_go(client):
    path = "/v2.1/flavors/1/os-extra_specs"
    client.post(path, {"extra_specs": {"a": "1", "b": 2}})
    client.put(f"{path}/a", {"a": "3"})
    assert client.get(path).json == {"extra_specs": {"a": "3", "b": "2"}}
    assert client.get(f"{path}/b").json == {"b": "2"}
    assert client.delete(f"{path}/b").status_code == 200
    assert client.get(f"{path}/b").status_code == 404
    assert client.delete(f"{path}/b").status_code == 404


@pytest.mark.parametrize("body", [{"b": "1"}, {"a": "1", "b": "1"}, {}])
def test_an_extra_spec_is_changed_under_its_own_name(client, body):
    assert client.put("/v2.1/flavors/1/os-extra_specs/a", body).status_code == 400


# access


BOB = "bob:other"


@pytest.fixture
def secret(client):
    _create(client, name="secret", id="secret", **{"os-flavor-access:is_public": False})
    return "/v2.1/flavors/secret"


def _act(client, path, action, project="project", version="2.96"):
    return client.post(f"{path}/action", {action: {"tenant": project}}, version=version)


def _accesses(client, path, **more):
    return client.get(f"{path}/os-flavor-access", **more).json["flavor_access"]


def test_access_is_given_and_taken(client, secret):
    assert _accesses(client, secret) == []
    for project in ("project", "a-project"):
        given = _act(client, secret, "addTenantAccess", project)
    assert given.status_code == 200
    assert given.json["flavor_access"] == [
        {"flavor_id": "secret", "tenant_id": "a-project"},
        {"flavor_id": "secret", "tenant_id": "project"},
    ]
    assert _accesses(client, secret) == given.json["flavor_access"]
    taken = _act(client, secret, "removeTenantAccess")
    assert taken.json["flavor_access"] == given.json["flavor_access"][:1]


def test_a_flavor_is_there_for_those_who_have_access(client, secret):
    def seen(token):
        listed = [
            _names(client.get(f"/v2.1/flavors{more}", token=token)) for more in ("", "/detail")
        ]
        specs = client.get(f"{secret}/os-extra_specs", token=token).status_code
        return listed, client.get(secret, token=token).status_code, specs

    assert seen(ALICE) == ([["m1.tiny"]] * 2, 404, 404)
    _act(client, secret, "addTenantAccess")
    assert seen(ALICE) == ([["m1.tiny", "secret"]] * 2, 200, 200)
    assert seen(BOB) == ([["m1.tiny"]] * 2, 404, 404)
    _act(client, secret, "removeTenantAccess")
    assert seen(ALICE) == ([["m1.tiny"]] * 2, 404, 404)


def test_servers_are_made_of_a_flavor_by_those_who_have_access(client, secret):
    server = {"name": "a", "flavorRef": "secret", "imageRef": IMAGE}
    body = {"server": server | {"networks": [{"uuid": PRIVATE.id}]}}
    refused = client.post("/v2.1/servers", body, token=ALICE)
    assert refused.status_code == 400
    assert "flavorRef" in refused.json["badRequest"]["message"]
    _act(client, secret, "addTenantAccess")
    assert client.post("/v2.1/servers", body, token=ALICE).status_code == 202
    assert client.post("/v2.1/servers", body, token=BOB).status_code == 400


def test_access_is_given_once_and_taken_once(client, secret):
    assert _act(client, secret, "removeTenantAccess").status_code == 404
    assert _act(client, secret, "addTenantAccess").status_code == 200
    assert _act(client, secret, "addTenantAccess").status_code == 409


def test_access_to_no_flavor_is_not_found(client):
    for action in ("addTenantAccess", "removeTenantAccess"):
        assert _act(client, "/v2.1/flavors/none", action).status_code == 404
    assert client.get("/v2.1/flavors/none/os-flavor-access").status_code == 404


def test_access_goes_with_its_flavor(client, secret):
    _act(client, secret, "addTenantAccess")
    client.delete(secret)
    _create(client, name="new", id="secret", **{"os-flavor-access:is_public": False})
    assert _accesses(client, secret) == []


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"addTenantAccess": {}},
        {"addTenantAccess": {"tenant": ""}},
        {"addTenantAccess": {"tenant": "a b"}},
        {"addTenantAccess": {"tenant": "a", "more": "b"}},
        {"addTenantAccess": {"tenant": "a"}, "removeTenantAccess": {"tenant": "a"}},
        {"dance": None},
    ],
)
def test_an_action_that_cannot_be_meant_is_refused(client, secret, body):
    assert client.post(f"{secret}/action", body).status_code == 400


# extra specs


def test_a_refused_extra_spec_is_named(client):
    body = {"extra_specs": {"hw:cpu_policy": "dedicatd"}}
    answer = client.post("/v2.1/flavors/1/os-extra_specs", body, version="2.86")
    assert "'dedicatd'" in answer.json["badRequest"]["message"]
    assert "'hw:cpu_policy'" in answer.json["badRequest"]["message"]


def test_an_extra_spec_that_nobody_does_is_refused_with_the_reason(client):
    body = {"extra_specs": {"resources:VGPUS": "1"}}
    answer = client.post("/v2.1/flavors/1/os-extra_specs", body, version="2.86")
    assert answer.status_code == 400
    assert answer.json["badRequest"]["message"].startswith(
        "Extra spec 'resources:VGPUS' ('1') is not supported: there is no such resource class"
    )
    assert client.get("/v2.1/flavors/1/os-extra_specs").json["extra_specs"] == {}


@pytest.mark.parametrize("amount", ["-1", "1.5", "2147483648"])
def test_an_amount_that_was_written_unchecked_is_refused_at_the_boot(client, amount):
    client.post("/v2.1/flavors/1/os-extra_specs", {"extra_specs": {"resources:CUSTOM_X": amount}})
    server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE}
    answer = client.post("/v2.1/servers", {"server": server})
    assert answer.status_code == 400
    assert answer.json["badRequest"]["message"] == (
        "The extra spec resources:CUSTOM_X must be a whole number from 0 to 2147483647, not"
        f" '{amount}'"
    )


def test_who_may_not_see_extra_specs_is_not_told_them_with_a_flavor(client, monkeypatch):
    allows = Policy.allows

    def refuse(self, context, rule, **more):
        return rule != compute_flavors.LIST_SPECS_POLICY and allows(self, context, rule, **more)

    monkeypatch.setattr(Policy, "allows", refuse)
    for path in ("/v2.1/flavors/1", "/v2.1/flavors/detail"):
        assert "extra_specs" not in client.get(path, version="2.61").text


def test_a_flavor_whose_row_says_that_it_is_disabled_says_so_and_boots_nothing(world):
    with world.api_db.begin() as session:
        flavors.create(session, a_flavor(flavorid="off", name="off", disabled=True))
    shown = world.client.get("/v2.1/flavors/off", version="2.101").json["flavor"]
    assert shown["OS-FLV-DISABLED:disabled"] is True
    server = {"name": "a", "flavorRef": "off", "imageRef": IMAGE}
    refused = world.client.post("/v2.1/servers", {"server": server})
    assert refused.status_code == 400
    assert "flavorRef" in refused.json["badRequest"]["message"]
