"""A cloud whose people are Keystone's: a real one, with projects, roles, tokens and a catalog."""

import openstack
import pytest
import requests

from roost.rig.embedded import EmbeddedRig
from tests.external.keystone import PASSWORD, REGION, Keystone
from tests.stories.cloud import wait_until

_VERSION = "2.90"
# openstacksdk warns of what it does itself
pytestmark = [
    pytest.mark.timeout(900),  # the first one may have to install Keystone
    pytest.mark.filterwarnings("ignore::openstack.warnings.RemovedInSDK50Warning"),
]


@pytest.fixture(scope="module")
def keystone(openstack_packages, tmp_path_factory):
    with Keystone(openstack_packages, tmp_path_factory.mktemp("keystone")) as made:
        for project in ("blue", "red", "service"):
            made.project(project)
        made.user("alice", "blue", "member", "reader")
        made.user("rita", "blue", "reader")
        made.user("nobody", "blue", "service")
        made.user("bob", "red", "member", "reader")
        made.user("roost", "service", "service", "admin")
        made.user("neutron", "service", "service")
        yield made


@pytest.fixture(scope="module")
def rig(keystone, tmp_path_factory):
    overrides = {
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": keystone.judging("roost"),
    }
    made = EmbeddedRig(tmp_path_factory.mktemp("rig"), cells=1, hosts=1, overrides=overrides)
    made.start()
    root = made.endpoint.removesuffix("/v2.1")
    keystone.service("compute", made.endpoint)
    keystone.service("image", f"{root}/image")
    keystone.service("network", f"{root}/network")
    yield made
    made.stop()


@pytest.fixture(scope="module")
def cloud_of(rig, keystone):
    """Return somebody's connection, which knows nothing but where Keystone is."""
    opened = []

    def cloud_of(user, project, password=PASSWORD):
        opened.append(
            openstack.connection.Connection(
                session=keystone.login(user, project, password=password),
                region_name=REGION,
                compute_default_microversion=_VERSION,
            )
        )
        return opened[-1]

    yield cloud_of
    for connection in opened:
        connection.close()


@pytest.fixture(scope="module")
def alice(cloud_of):
    return cloud_of("alice", "blue")


@pytest.fixture(scope="module")
def server(alice):
    """A server of alice's, booted by what the catalog says."""
    made = alice.compute.create_server(
        name="mine",
        flavor_id=next(alice.compute.flavors()).id,
        image_id=next(alice.image.images()).id,
        networks="none",
    )
    return alice.compute.wait_for_server(made, wait=60)


def _ask(rig, path="/servers", **headers):
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return requests.get(rig.endpoint + path, headers=named, timeout=30)


def _status(call):
    with pytest.raises(openstack.exceptions.HttpException) as refused:
        call()
    return refused.value.status_code


def test_a_member_boots_a_server_through_the_catalog(server):
    assert server.status == "ACTIVE"


def test_a_reader_sees_the_servers_of_the_project_but_makes_none(cloud_of, server):
    rita = cloud_of("rita", "blue").compute
    assert [found.id for found in rita.servers()] == [server.id]
    assert _status(lambda: rita.create_server(name="x", flavor_id="1", networks="none")) == 403
    assert _status(lambda: rita.delete_server(server.id, ignore_missing=False)) == 403


def test_for_another_project_the_server_is_not_there(cloud_of, server):
    bob = cloud_of("bob", "red").compute
    assert list(bob.servers()) == []
    assert _status(lambda: bob.get_server(server.id)) == 404


def test_without_token_one_is_told_where_to_get_one(rig, keystone):
    refused = _ask(rig)
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"] == f'Keystone uri="{keystone.url}"'
    assert refused.json()["unauthorized"]["code"] == 401
    assert refused.headers["x-openstack-request-id"].startswith("req-")


@pytest.mark.parametrize("token", ["nonsense", "admin:admin", "", "\xff"])
def test_a_token_that_is_none_is_refused(rig, token):
    assert _ask(rig, X_Auth_Token=token).status_code == 401


def test_a_token_that_was_revoked_is_refused(rig, keystone):
    token = keystone.login("alice", "blue").get_token()
    keystone.revoke(token)
    assert _ask(rig, X_Auth_Token=token).status_code == 401


def test_a_token_that_ran_out_is_refused_but_from_a_service_that_works_on(rig, keystone):
    token = keystone.short_token("alice", "blue", seconds=1)
    wait_until(lambda: _ask(rig, X_Auth_Token=token).status_code == 401, "it runs out")
    service = keystone.login("neutron", "service").get_token()
    assert _ask(rig, X_Auth_Token=token, X_Service_Token=service).status_code == 200


def test_a_service_token_of_somebody_who_is_no_service_is_refused(rig, keystone):
    token = keystone.login("alice", "blue").get_token()
    other = keystone.login("bob", "red").get_token()
    assert _ask(rig, X_Auth_Token=token, X_Service_Token=other).status_code == 401
