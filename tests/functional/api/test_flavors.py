import pytest

from tests.api_world import ALICE

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


@pytest.mark.parametrize("values", [{"name": "m1.tiny"}, {"id": "1"}])
def test_names_and_ids_are_given_once(client, values):
    assert _create(client, **values).json["conflictingRequest"]["code"] == 409


def test_numbers_written_as_words_have_bounds_too(client):
    assert _create(client, ram="99999999999").status_code == 400
    assert _create(client, ram="4294967296").status_code == 400
    assert _create(client, vcpus="0").status_code == 400


def test_only_administrators_create_and_delete(client):
    body = {"flavor": _BODY}
    assert client.post("/v2.1/flavors", body, token=ALICE).status_code == 403
    assert client.delete("/v2.1/flavors/1", token=ALICE).status_code == 403


def test_a_deleted_flavor_is_gone(client):
    assert client.delete("/v2.1/flavors/1").status_code == 202
    assert client.get("/v2.1/flavors/1").status_code == 404
    assert client.delete("/v2.1/flavors/1").status_code == 404


def test_a_description_changes_since_2_55(client):
    body = {"flavor": {"description": "new"}}
    answer = client.put("/v2.1/flavors/1", body, version="2.55")
    assert answer.json["flavor"]["description"] == "new"
    assert client.put("/v2.1/flavors/1", body, version="2.54").status_code == 404


@pytest.mark.parametrize(
    ("version", "keys"),
    [("2.1", set()), ("2.55", {"description"}), ("2.61", {"description", "extra_specs"})],
)
def test_what_is_told_of_a_flavor_grows(client, version, keys):
    flavor = client.get("/v2.1/flavors/1", version=version).json["flavor"]
    assert {"description", "extra_specs"} & set(flavor) == keys


def test_no_swap_is_an_empty_word_until_2_75(client):
    shown = [
        client.get("/v2.1/flavors/1", version=version).json["flavor"]["swap"]
        for version in ("2.74", "2.75")
    ]
    assert shown == ["", 0]


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
