"""Key pairs as clients see them."""

import re

import pytest
import sqlalchemy as sa
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from roost.db.api import build_requests, models
from tests.api_harness import ADMIN, ALICE, IMAGE
from tests.builders import FINGERPRINT, PUBLIC_KEY
from tests.unit.api.test_keypairs import CERTIFICATE, CERTIFICATE_FINGERPRINT

BOB = "bob:project"
PATH = "/v2.1/os-keypairs"


def create(client, name="mine", *, version="2.92", token=ALICE, **values):
    body = {"name": name, "public_key": PUBLIC_KEY} | values
    body = {key: value for key, value in body.items() if value is not None}
    return client.post(PATH, {"keypair": body}, version=version, token=token)


def generate(client, name="mine", *, version="2.91", **values):
    return create(client, name, version=version, public_key=None, **values)


def names(client, query="", *, version="2.92", token=ALICE):
    answer = client.get(f"{PATH}{query}", version=version, token=token)
    return [one["keypair"]["name"] for one in answer.json["keypairs"]]


def message(answer, kind="badRequest"):
    return answer.json[kind]["message"]


def boot(world, *, token=ALICE, **values):
    server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE} | values
    return world.client.post("/v2.1/servers", {"server": server}, token=token)


def build_request(world, answer):
    with world.api_db.read() as session:
        return build_requests.find(session, answer.json["server"]["id"])


def test_an_imported_key_pair_is_shown(client):
    answer = create(client)
    assert answer.status_code == 201
    made = {
        "fingerprint": FINGERPRINT,
        "name": "mine",
        "type": "ssh",
        "public_key": PUBLIC_KEY,
        "user_id": "alice",
    }
    assert answer.json == {"keypair": made}
    shown = client.get(f"{PATH}/mine", token=ALICE, version="2.92").json["keypair"]
    created_at, identity = shown.pop("created_at"), shown.pop("id")
    assert shown == made | {"deleted": False, "deleted_at": None, "updated_at": None}
    assert re.fullmatch(r"2\d{3}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}", created_at)
    assert isinstance(identity, int)


def test_an_imported_certificate_is_shown(client):
    made = create(client, type="x509", public_key=CERTIFICATE).json["keypair"]
    assert (made["type"], made["public_key"]) == ("x509", CERTIFICATE)
    assert made["fingerprint"] == CERTIFICATE_FINGERPRINT


def test_a_generated_pair_is_returned_once_and_its_private_half_is_kept_nowhere(world):
    answer = generate(world.client)
    assert answer.status_code == 201
    made = answer.json["keypair"]
    private = serialization.load_pem_private_key(made["private_key"].encode(), password=None)
    public = serialization.load_ssh_public_key(made["public_key"].encode())
    assert private.public_key() == public
    assert "private_key" not in world.client.get(f"{PATH}/mine", token=ALICE).json["keypair"]
    with world.api_db.read() as session:
        (row,) = session.execute(sa.select(models.key_pairs)).all()
    assert not [value for value in row if "PRIVATE" in str(value)]


def test_a_generated_certificate_fits_its_private_key(client):
    made = generate(client, type="x509").json["keypair"]
    private = serialization.load_pem_private_key(made["private_key"].encode(), password=None)
    certificate = x509.load_pem_x509_certificate(made["public_key"].encode())
    assert private.public_key() == certificate.public_key()
    assert certificate.subject.rfc4514_string() == "CN=alice"


@pytest.mark.parametrize("name", ["a", "a b", "a-b_c 1", "x" * 255])
def test_names_that_always_do(client, name):
    for version in ("2.1", "2.92"):
        create(client, name, version=version)
        path = f"{PATH}/{name.replace(' ', '%20')}"
        assert client.get(path, token=ALICE).json["keypair"]["name"] == name
        assert client.delete(path, token=ALICE).status_code == 202


@pytest.mark.parametrize(
    "name", ["", " ", " a", "a ", "a\n", "a\tb", "a/b", "é", "a:b", "x" * 256, 5, True]
)
def test_names_that_never_do(client, name):
    for version in ("2.1", "2.92"):
        assert message(create(client, name, version=version))
    assert names(client) == []


@pytest.mark.parametrize(
    ("version", "values"),
    [
        ("2.1", {"user_id": "bob"}),
        ("2.9", {"user_id": "bob"}),
        ("2.92", {"type": "none"}),
        ("2.92", {"type": "x509"}),
        ("2.92", {"public_key": ""}),
        ("2.92", {"public_key": "ssh-rsa"}),
        ("2.92", {"public_key": 5}),
        ("2.92", {"public_key": CERTIFICATE}),
        ("2.92", {"public_key": "x" * 65536}),
        ("2.92", {"other": 1}),
    ],
)
def test_what_cannot_be_meant_is_refused(client, version, values):
    assert message(create(client, version=version, **values))
    assert names(client) == []


def test_a_bad_public_key_is_told_in_the_words_of_compute(client):
    expected = "Keypair data is invalid: failed to generate fingerprint"
    assert message(create(client, public_key="ssh-rsa AAAA")) == expected


def test_a_name_is_taken_once_by_each_user(client):
    create(client)
    answer = create(client)
    assert answer.status_code == 409
    assert message(answer, "conflictingRequest") == "Key pair 'mine' already exists."
    assert create(client, token=BOB).status_code == 201


@pytest.mark.parametrize("method", ["GET", "DELETE"])
def test_a_key_pair_that_is_not_there_is_not_found(client, method):
    answer = client.ask(method, f"{PATH}/mine", token=ALICE, version="2.92")
    assert message(answer, "itemNotFound") == "Keypair mine not found for user alice"


def test_a_deleted_key_pair_is_gone_and_its_name_free(client):
    create(client)
    assert client.delete(f"{PATH}/mine", token=ALICE, version="2.92").status_code == 204
    assert client.get(f"{PATH}/mine", token=ALICE).status_code == 404
    assert create(client).status_code == 201


def test_users_have_their_own(client):
    create(client, "hers")
    create(client, "his", token=BOB)
    assert (names(client), names(client, token=BOB)) == (["hers"], ["his"])
    assert client.get(f"{PATH}/his", token=ALICE).status_code == 404
    assert client.delete(f"{PATH}/his", token=ALICE).status_code == 404


def test_key_pairs_belong_to_a_user_whatever_the_project(client):
    create(client, token="alice:project")
    assert names(client, token="alice:other") == ["mine"]


def test_administrators_care_for_those_of_others_since_2_10(client):
    made = create(client, token=ADMIN, version="2.10", user_id="bob").json["keypair"]
    assert made["user_id"] == "bob"
    assert names(client, token=BOB) == ["mine"]
    assert names(client, token=ADMIN) == []
    assert names(client, "?user_id=bob", token=ADMIN, version="2.10") == ["mine"]
    path = f"{PATH}/mine?user_id=bob"
    shown = client.get(path, token=ADMIN, version="2.10").json["keypair"]
    assert (shown["name"], shown["user_id"]) == ("mine", "bob")
    assert client.delete(path, token=ADMIN, version="2.10").status_code == 204
    assert names(client, token=BOB) == []


@pytest.mark.parametrize(
    ("method", "path", "action"),
    [("GET", "", "index"), ("GET", "/mine", "show"), ("DELETE", "/mine", "delete")],
)
def test_those_of_others_are_for_administrators_only(client, method, path, action):
    create(client, token=BOB)
    answer = client.ask(method, f"{PATH}{path}?user_id=bob", token=ALICE, version="2.10")
    expected = f"Policy doesn't allow os_compute_api:os-keypairs:{action} to be performed."
    assert message(answer, "forbidden") == expected
    assert names(client, token=BOB) == ["mine"]


def test_nobody_else_gives_a_user_a_key_pair(client):
    assert create(client, token=BOB, user_id="alice").status_code == 403
    assert names(client) == []
    assert create(client, user_id="alice").json["keypair"]["user_id"] == "alice"
    assert names(client, "?user_id=alice") == names(client, "?user_id=") == ["mine"]


def test_lists_are_paged_since_2_35(client):
    for name in "dbca":
        create(client, name)
    assert names(client, "?limit=2", version="2.34") == ["a", "b", "c", "d"]
    assert names(client, "?limit=0", version="2.35") == ["a", "b", "c", "d"]
    answer = client.get(f"{PATH}?limit=3&user_id=alice", token=ALICE, version="2.35").json
    assert [one["keypair"]["name"] for one in answer["keypairs"]] == ["a", "b", "c"]
    (link,) = answer["keypairs_links"]
    assert link["rel"] == "next"
    assert link["href"].endswith("/v2.1/os-keypairs?limit=3&user_id=alice&marker=c")
    rest = client.get(
        link["href"].removeprefix("http://falconframework.org"), token=ALICE, version="2.35"
    ).json
    assert [one["keypair"]["name"] for one in rest.pop("keypairs")] == ["d"]
    assert rest == {}


def test_a_page_is_after_a_key_pair_that_is_there(client):
    create(client, token=BOB)
    answer = client.get(f"{PATH}?marker=mine", token=ALICE, version="2.35")
    assert message(answer) == "Marker mine could not be found."
    assert names(client, "?marker=mine", version="2.34") == []


def test_a_user_has_a_hundred_and_no_more(client):
    for number in range(100):
        assert create(client, f"key{number}").status_code == 201
    answer = create(client)
    assert message(answer, "forbidden") == "Quota exceeded, too many key pairs."
    assert create(client, token=BOB).status_code == 201
    client.delete(f"{PATH}/key7", token=ALICE)
    assert create(client).status_code == 201


def test_a_server_has_the_key_pair_that_it_is_asked_for_with(world):
    create(world.client)
    answer = boot(world, key_name="mine")
    assert answer.status_code == 202
    instance = build_request(world, answer).instance
    assert (instance.key_name, instance.keypair.public_key) == ("mine", PUBLIC_KEY)
    shown = world.client.get(f"/v2.1/servers/{instance.uuid}", token=ALICE).json["server"]
    assert shown["key_name"] == "mine"
    (listed,) = world.client.get("/v2.1/servers/detail", token=ALICE).json["servers"]
    assert listed["key_name"] == "mine"


def test_a_server_may_have_no_key_pair(world):
    for values in ({}, {"key_name": None}):
        instance = build_request(world, boot(world, **values)).instance
        assert (instance.key_name, instance.keypair) == (None, None)
        shown = world.client.get(f"/v2.1/servers/{instance.uuid}", token=ALICE).json["server"]
        assert shown["key_name"] is None


@pytest.mark.parametrize("name", ["none", "his", ""])
def test_a_key_pair_that_the_caller_does_not_have_is_refused(world, name):
    create(world.client, "his", token=BOB)
    answer = boot(world, key_name=name)
    assert message(answer) == "Invalid key_name provided."
    assert world.usage()["instances"] == 0


def test_a_server_keeps_its_key_when_the_key_pair_is_gone_or_another(world):
    create(world.client)
    answer = boot(world, key_name="mine")
    world.client.delete(f"{PATH}/mine", token=ALICE)
    generate(world.client)
    instance = build_request(world, answer).instance
    assert instance.keypair.public_key == PUBLIC_KEY
    shown = world.client.get(f"/v2.1/servers/{instance.uuid}", token=ALICE).json["server"]
    assert shown["key_name"] == "mine"
