"""Glance, Neutron or Keystone take a connection and never answer: one wait, then 503 at once."""

import dataclasses

import pytest

from roost import conf
from roost.api.app import make_app
from roost.api.keystone_auth import Keystone
from roost.api.networking.driver import load_networking
from roost.api.policy import Policy
from roost.api.routes import OPEN_PATHS
from roost.image.driver import load_hasty_store
from roost.standalone.tables import list_rules
from tests.api_harness import ALICE, IMAGE, Client
from tests.builders import a_uuid
from tests.fakes import unresponsive_server

WAIT = 0.3  # seconds


@pytest.fixture
def hanging():
    with unresponsive_server.listening() as made:
        yield made


def _options(url):
    ourselves = {"auth_type": "none", "endpoint": url, "endpoint_override": url}
    return {**ourselves, "timeout": WAIT, "connect_retries": 1}


def _glance(hanging, _folder):
    options = conf.of({"image": {"store": "glance"}, "glance": _options(hanging.url)})
    return {"images": load_hasty_store(options)}


def _neutron(hanging, _folder):
    options = conf.of({"network": {"driver": "neutron"}, "neutron": _options(hanging.url)})
    return {"networking": load_networking(options)}


def _keystone(hanging, folder):
    told = {
        "auth_type": "v3password",
        "auth_url": f"{hanging.url}/v3",
        "username": "roost",
        "user_domain_id": "default",
        "password": "secret",
        "http_connect_timeout": 1,
    }
    file = folder / "roost.conf"
    lines = [f"{name} = {value}" for name, value in told.items()]
    file.write_text("\n".join(["[keystone_authtoken]", *lines]))
    options = conf.load([], files=[str(file)])
    made = Keystone(options, policy=Policy(options, list_rules()), open_paths=OPEN_PATHS)
    return {"authentication": made}


@pytest.mark.parametrize("service", [_glance, _neutron, _keystone])
def test_a_service_that_hangs_holds_one_request_and_refuses_the_next_ones(
    world, hanging, tmp_path, service
):
    parts = service(hanging, tmp_path)
    client = Client(make_app(dataclasses.replace(world.parts, **parts)))
    body = {
        "name": "s",
        "flavorRef": world.things()["flavor_id"],
        "imageRef": IMAGE,
        "networks": [{"uuid": a_uuid()}] if service is _neutron else "none",
    }
    answers = [
        client.post("/v2.1/servers", {"server": body}, version="2.90", token=ALICE)
        for _ in range(5)
    ]
    assert [answer.status_code for answer in answers] == [503] * 5
    assert {answer.headers["Retry-After"] for answer in answers} == {"5"}
    assert hanging.url not in "".join(answer.text for answer in answers)
    assert hanging.connections == 1


def test_what_needs_no_service_that_hangs_is_answered(world, hanging, tmp_path):
    parts = _glance(hanging, tmp_path) | _neutron(hanging, tmp_path)
    client = Client(make_app(dataclasses.replace(world.parts, **parts)))
    assert client.get("/v2.1/servers", token=ALICE).status_code == 200
    assert hanging.connections == 0
