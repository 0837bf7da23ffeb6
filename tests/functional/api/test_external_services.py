"""Where Glance has the images and Neutron the networks, the API that stands in for them is not."""

import dataclasses

import pytest

from roost import conf, exception
from roost.api.app import make_app
from roost.api.middleware import NoAuth
from roost.api.networking.neutron import NeutronNetworking
from roost.image.driver import load_hasty_store
from roost.standalone.networking import LocalNetworking
from tests import api_harness
from tests.api_harness import ALICE, PRIVATE, Client
from tests.builders import a_uuid

NETWORKS = ["networks", "subnets", "ports", "extensions", f"networks/{a_uuid()}"]
PROXIES = ["os-networks", "os-tenant-networks", "os-floating-ips", "os-floating-ip-pools"]


@pytest.fixture
def asking(world):
    """Return a client of the API, put together with other parts."""

    def asking(**parts):
        return Client(make_app(dataclasses.replace(world.parts, **parts)))

    return asking


@pytest.fixture
def glance(asking):
    nobody = {"endpoint": "http://127.0.0.1:1", "endpoint_override": "http://127.0.0.1:1"}
    options = {"image": {"store": "glance"}, "glance": {"auth_type": "none", **nobody}}
    return asking(images=load_hasty_store(conf.of(options)))


@pytest.fixture
def neutron(asking):
    return asking(networking=NeutronNetworking(None))


def refusals(client, method, paths, **more):
    found = {}
    for path in paths:
        answer = client.ask(method, path, token=ALICE, **more)
        found[path] = answer.status_code, answer.json["itemNotFound"]["message"]
    return set(found.values())


IMAGE = "This cloud has an image service of its own: the catalog says where."
NETWORK = "This cloud has a network service of its own: the catalog says where."


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_images_of_glance_are_not_served_here(glance, method):
    paths = ["/image/v2/images", "/image/v2/images/"]
    assert refusals(glance, method, paths) == {(404, IMAGE)}


def test_nor_is_the_version_document_of_images(glance):
    assert refusals(glance, "GET", ["/image"]) == {(404, IMAGE)}
    assert glance.get("/network", token=ALICE).status_code == 200


def test_networks_of_neutron_are_not_served_here(neutron):
    paths = [f"/network/v2.0/{path}" for path in NETWORKS]
    assert refusals(neutron, "GET", [*paths, "/network", "/network/v2.0"]) == {(404, NETWORK)}
    assert refusals(neutron, "POST", paths[:3]) == {(404, NETWORK)}
    assert neutron.get("/image/v2/images", token=ALICE).status_code == 200


def test_what_compute_has_given_up_is_gone_all_the_same(neutron):
    assert neutron.post("/v2.1/os-networks", {}, token=ALICE).status_code == 410


def test_documents_name_what_is_served_and_nothing_else(world, glance, neutron):
    all_of_it = world.client.get("/openapi.json").json["paths"]
    without = set(all_of_it) - set(glance.get("/openapi.json").json["paths"])
    assert without == {path for path in all_of_it if path.split("/")[1] == "image"}
    without = set(all_of_it) - set(neutron.get("/openapi.json").json["paths"])
    roots = {path.split("/")[1] if path[1] == "n" else path.split("/")[2] for path in without}
    assert roots == {"network"}


def test_the_proxies_of_networks_that_old_versions_have_are_served_beside_neutron(neutron):
    found = neutron.get("/v2.1/extensions", token=ALICE).json["extensions"]
    assert {one["alias"] for one in found} >= {*PROXIES}


class Choosy(LocalNetworking):
    """A plug-in of somebody's own: local networks, but not for all."""

    def requests(self, call, asked, **more):
        if asked["name"] == "web":
            raise exception.Invalid("No networks for the web.")
        return super().requests(call, asked, **more)


def test_a_plug_in_that_is_a_local_networking_is_asked_itself(world, asking):
    parts = world.parts
    choosy = Choosy([PRIVATE])
    choosy = api_harness.bound(choosy, world.api_db, parts.cells, parts.super_conductor)
    client = asking(networking=choosy)
    server = {"name": "web", "flavorRef": "1", "imageRef": api_harness.IMAGE, "networks": "auto"}
    refused = client.post("/v2.1/servers", {"server": server}, token=ALICE, version="2.37")
    assert refused.json["badRequest"]["message"] == "No networks for the web."
    served = {"server": {**server, "name": "db"}}
    assert client.post("/v2.1/servers", served, token=ALICE, version="2.37").status_code == 202
    groups = client.get("/network/v2.0/security-groups", token=ALICE).json["security_groups"]
    assert [group["name"] for group in groups] == ["default"]


class WithCatalog(NoAuth):
    """Everybody's catalog says where the image service is."""

    def process_request(self, req, resp):
        super().process_request(req, resp)
        told = {"public": "https://image.example/", "internal": "http://10.0.0.1"}
        endpoints = [{"interface": kind, "url": url} for kind, url in told.items()]
        req.context.caller.service_catalog = [
            {"type": "network", "endpoints": [{"interface": "public", "url": "https://net"}]},
            {"type": "image", "endpoints": endpoints[::-1]},
        ]


def test_the_address_of_a_new_image_is_that_of_the_catalog(world, asking, monkeypatch):
    """Before 2.45, when clients were told an address."""
    monkeypatch.setattr(type(world.images), "hasty", lambda store: store, raising=False)
    server, client = world.things()["server_id"], asking(authentication=WithCatalog())
    made = client.post(
        f"/v2.1/servers/{server}/action", {"createImage": {"name": "taken"}}, token=ALICE
    )
    where = made.headers["Location"]
    assert where.startswith("https://image.example/v2/images/")
    image = client.get(f"/v2.1/images/{where.rpartition('/')[2]}", token=ALICE).json["image"]
    assert [link["href"] for link in image["links"] if link["rel"] == "alternate"] == [where]
