"""Servers of images in a real Glance: booted, and refused or given up where there is no image."""

import io
import json
import time

import pytest
import requests

from roost import conf
from roost.context import admin_context
from roost.image.glance import GlanceImageStore
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until

pytestmark = pytest.mark.timeout(900)  # the first one may have to install Glance
OURSELVES = "roost:service:admin"
CONTENT = b"the bits of a guest" * 5000
AMPLE = {"instances": 1000, "cores": 1000, "ram": 10_000_000}


@pytest.fixture(scope="module")
def options(glance):
    return {
        "endpoint_override": glance.url,
        "auth_type": "admin_token",
        "endpoint": glance.url,
        "token": OURSELVES,
        "timeout": 5.0,
        "connect_retries": 0,
    }


@pytest.fixture(scope="module")
def store(options):
    return GlanceImageStore.from_conf(conf.of({"glance": options}))


@pytest.fixture(scope="module")
def add(store):
    """Add an image of this content and return its id."""

    def add(content=CONTENT, **values):
        description = {"name": "tiny", "visibility": "public"} | values
        return store.add(admin_context(), data=io.BytesIO(content), **description).id

    return add


@pytest.fixture(scope="module")
def cloud(add, options, tmp_path_factory):
    add()
    overrides = {"image": {"store": "glance"}, "glance": options, "quota": AMPLE}
    with embedded_cloud(
        tmp_path_factory.mktemp("rig"), cells=1, hosts=2, overrides=overrides
    ) as cloud:
        yield cloud


def ask(cloud, image, token="alice:blue"):
    body = {"name": "s", "flavorRef": cloud.flavor, "imageRef": image, "networks": "none"}
    return requests.post(
        f"{cloud.client.endpoint}/servers",
        json={"server": body},
        headers={"X-Auth-Token": token, "OpenStack-API-Version": "compute 2.90"},
        timeout=60,
    )


def refusal(cloud, image, **more):
    answer = ask(cloud, image, **more)
    assert answer.status_code == 400
    return answer.json()["badRequest"]["message"]


def cached(cloud):
    return [path.read_bytes() for path in cloud.plan.state.glob("**/images/*.img")]


def half_fetched(cloud):
    return list(cloud.plan.state.glob("**/images/*.part"))


def failure(cloud, server_id):
    """Wait until a server has failed, and return why."""

    def look():
        server = cloud.show(server_id)
        assert server["status"] != "ACTIVE"
        return server["status"] == "ERROR" and server["fault"]

    return wait_until(look, "an error")


def test_a_server_boots_from_an_image_of_glance(cloud, add):
    image = add(CONTENT + b"!", properties={"hw_machine_type": "q35"})
    (server_id,) = cloud.boot(imageRef=image)
    (server,) = cloud.wait([server_id], "ACTIVE")
    assert server["image"]["id"] == image
    assert CONTENT + b"!" in cached(cloud)


def test_a_deleted_image_is_refused(cloud, store, add):
    image = add()
    store.delete(admin_context(), image)
    assert refusal(cloud, image) == "Can not find requested image"


def test_an_image_deleted_before_a_host_has_it_is_final(cloud, store, add):
    image = add(b"gone soon")
    with cloud.without("super-conductor"):
        (server_id,) = cloud.boot(imageRef=image)
        store.delete(admin_context(), image)
    assert f"Image {image} (tiny) cannot be fetched" in failure(cloud, server_id)["message"]
    assert attempts(cloud, server_id) == 1


def test_an_image_deactivated_before_a_host_has_it_is_final(cloud, glance, add):
    image = add(b"not for anybody")
    with cloud.without("super-conductor"):
        (server_id,) = cloud.boot(imageRef=image)
        glance.deactivate(image, token=OURSELVES)
    assert "is not active: it is deactivated" in failure(cloud, server_id)["message"]
    assert attempts(cloud, server_id) == 1


def test_without_glance_the_api_says_when_to_try_again(cloud, glance, add):
    image = add()
    with glance.away():
        before = time.monotonic()
        answer = ask(cloud, image)
        assert time.monotonic() - before < 20
    assert answer.status_code == 503
    assert int(answer.headers["Retry-After"]) > 0
    assert str(glance.url) not in answer.text
    assert ask(cloud, image).status_code == 202


def test_without_glance_hosts_try_and_let_others_try(cloud, glance, add):
    image = add(b"not to be had")
    with cloud.without("super-conductor"):
        (server_id,) = cloud.boot(imageRef=image)
        glance.stop()
    try:
        why = json.dumps(failure(cloud, server_id))
    finally:
        glance.start()
    assert "Glance does not answer" in why
    assert glance.url not in why
    assert attempts(cloud, server_id) == 2
    assert half_fetched(cloud) == []


def test_nothing_is_left_of_what_failed(cloud):
    cloud.delete_all()
    assert cloud.audit() == {}


def attempts(cloud, server_id):
    """Return on how many hosts a build has come to fetching its image."""
    return [event.name for event in cloud.client.boot_events(server_id)].count("compute.image")
