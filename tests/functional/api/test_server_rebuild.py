"""What a rebuild gives anew: the guest's files, and the certificates its image is trusted by."""

import base64

import pytest

from roost import states
from roost.api.dependencies import ApiOptions
from roost.api.policy import Policy
from roost.api.servers import rebuild as servers_rebuild
from roost.db.cell import guest_config
from roost.objects import BlockDevice, GuestConfig, InjectedFile
from tests import api_harness
from tests.api_harness import ALICE
from tests.builders import CELL1, a_uuid, an_image

OTHER = "dddddddd-dddd-4ddd-8ddd-dddddddddddd"
REST = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1", "node": "h1"}
OLD = InjectedFile.of(path="/etc/old", contents="b2xk")
DISK = BlockDevice.of(source_type="image", boot_index=0, size_mb=1024)
CERTIFICATES = "trusted_image_certificates"


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with api_harness.made_in(
        tmp_path_factory.mktemp("world"), ApiOptions(verifies_images=True)
    ) as world:
        world.images.images[OTHER] = an_image(id=OTHER, name="other")
        yield world


def place(world, **values):
    given = GuestConfig.of(files=[OLD], block_devices=[DISK])
    return world.place(CELL1, **{"uuid": a_uuid(), "provisions": given, **REST, **values})


def rebuild(world, server, version, token=ALICE, **asked):
    body = {"rebuild": {"imageRef": OTHER} | asked}
    path = f"/v2.1/servers/{server.uuid}/action"
    return world.client.post(path, body, token=token, version=version)


def given(world, server):
    with world.databases[CELL1].read() as session:
        return guest_config.find(session, server.uuid)


def paths(world, server):
    return [file.path for file in given(world, server).files]


def a_file(size=3, path="/etc/motd"):
    return {"path": path, "contents": base64.b64encode(b"x" * size).decode()}


def test_the_files_of_a_rebuild_take_the_place_of_those_before(world):
    server = place(world)
    asked = [a_file(), a_file(path="/b")]
    assert rebuild(world, server, "2.56", personality=asked).status_code == 202
    files = given(world, server).files
    assert [(file.path, file.contents) for file in files] == [
        (each["path"], each["contents"]) for each in asked
    ]


def test_the_disks_stay_as_they_were(world):
    server = place(world)
    rebuild(world, server, "2.56", personality=[a_file()])
    assert given(world, server).block_devices == [DISK]


def test_files_that_are_not_named_stay_and_an_empty_list_takes_them_away(world):
    server, other = place(world), place(world)
    assert rebuild(world, server, "2.56").status_code == 202
    assert rebuild(world, other, "2.56", personality=[]).status_code == 202
    assert (paths(world, server), paths(world, other)) == (["/etc/old"], [])


def test_a_rebuild_that_is_refused_for_the_servers_state_changes_no_files(world):
    server = place(world, vm_state=states.PAUSED)
    assert rebuild(world, server, "2.56", personality=[]).status_code == 409
    assert paths(world, server) == ["/etc/old"]


@pytest.mark.parametrize(
    ("asked", "kept"),
    [({CERTIFICATES: ["b", "c"]}, ["b", "c"]), ({CERTIFICATES: None}, []), ({}, ["a"])],
)
def test_certificates_are_replaced_taken_away_or_stay(world, asked, kept):
    server = place(world, trusted_certs=["a"])
    answer = rebuild(world, server, "2.63", **asked)
    assert answer.json["server"][CERTIFICATES] == (kept or None)
    assert world.instance(server.uuid).trusted_certs == kept


def test_who_may_rebuild_may_still_be_refused_certificates(world, monkeypatch):
    allows = Policy.allows

    def but_one(self, context, rule, **more):
        refused = rule == servers_rebuild.TRUSTED_CERTS_POLICY
        return not refused and allows(self, context, rule, **more)

    monkeypatch.setattr(Policy, "allows", but_one)
    server = place(world, trusted_certs=["a"])
    answer = rebuild(world, server, "2.63", **{CERTIFICATES: ["b"]})
    assert "servers:rebuild:trusted_certs" in answer.json["forbidden"]["message"]
    assert world.instance(server.uuid).task_state is None
    assert rebuild(world, server, "2.63", **{CERTIFICATES: None}).status_code == 202
