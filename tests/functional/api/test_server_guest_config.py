"""What a new server is provided with: disks, files, a password; asked for, kept, and refused."""

import base64

import pytest

from roost.api.dependencies import ApiOptions
from roost.api.middleware import NoAuth
from roost.db.api import build_requests, flavors
from tests.api_harness import ADMIN, ALICE, IMAGE, made_in
from tests.builders import a_flavor, an_image

OTHER = "dddddddd-dddd-4ddd-8ddd-dddddddddddd"


class WithNames(NoAuth):
    """Knows the names of callers, as Keystone does."""

    def process_request(self, req, resp):
        super().process_request(req, resp)
        caller = req.context.caller
        caller.user_name, caller.project_name = "Alice", "The Lab"


_BODY = {"name": "web", "flavorRef": "2", "imageRef": IMAGE}
_ROOT = {"uuid": IMAGE, "source_type": "image", "boot_index": 0, "destination_type": "local"}
_BLANK = {"source_type": "blank", "destination_type": "local", "boot_index": -1}
_SWAP = {**_BLANK, "guest_format": "swap"}
_QUOTA = {**ApiOptions().quota, "instances": -1, "cores": -1, "ram": -1}


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with made_in(
        tmp_path_factory.mktemp("world"), ApiOptions(quota=_QUOTA, verifies_images=True)
    ) as world:
        with world.api_db.begin() as session:
            big = a_flavor(flavorid="2", name="big", root_gb=5, ephemeral_gb=4, swap=512)
            flavors.create(session, big)
        yield world


def _create(world, *, version="2.1", **values):
    return world.client.post(
        "/v2.1/servers", {"server": _BODY | values}, version=version, token=ALICE
    )


def _kept(world, answer):
    with world.api_db.read() as session:
        return build_requests.find(session, answer.json["server"]["id"]).instance


def _disks(world, answer):
    devices = _kept(world, answer).provisions.block_devices
    return [(one.guest_format or one.source_type, one.size_mb) for one in devices]


def test_a_server_gets_the_disks_of_its_flavor(world):
    assert _disks(world, _create(world)) == [("image", 5120), ("blank", 4096), ("swap", 512)]


def test_a_user_may_divide_what_the_flavor_has(world):
    devices = [_ROOT, *[{**_BLANK, "volume_size": 2}] * 2, {**_SWAP, "volume_size": "100"}]
    answer = _create(world, block_device_mapping_v2=devices)
    assert _disks(world, answer) == [
        ("image", 5120),
        ("blank", 2048),
        ("blank", 2048),
        ("swap", 100),
    ]


@pytest.mark.parametrize("size", [3, "5"])
def test_a_root_disk_of_a_size_is_that_of_the_flavor_if_it_is_large_enough(world, size):
    devices = [{**_ROOT, "volume_size": size, "destination_type": "local"}]
    answer = _create(world, block_device_mapping_v2=devices)
    assert answer.status_code == 202
    assert _disks(world, answer)[0] == ("image", 5120)


def test_a_root_disk_without_a_name_has_that_of_its_bus(world):
    def shown(**values):
        server = _create(world, **values).json["server"]["id"]
        answer = world.client.get(f"/v2.1/servers/{server}", version="2.3").json["server"]
        return answer["OS-EXT-SRV-ATTR:root_device_name"]

    assert shown() == "/dev/vda"
    assert shown(block_device_mapping_v2=[{**_ROOT, "disk_bus": "scsi"}]) == "/dev/sda"
    image = world.image(properties={"hw_disk_bus": "ide"})
    assert shown(imageRef=image.id) == "/dev/hda"


def test_what_a_user_calls_a_disk_is_kept(world):
    named = {"device_name": "/dev/sda", "disk_bus": "scsi", "device_type": "disk", "tag": "boot"}
    answer = _create(world, version="2.32", block_device_mapping_v2=[_ROOT | named])
    (root, *_) = _kept(world, answer).provisions.block_devices
    assert {name: getattr(root, name) for name in named} == named
    assert _kept(world, answer).root_device_name == "/dev/sda"


@pytest.mark.parametrize(
    ("devices", "said"),
    [
        ([_BLANK], "Boot sequence"),
        ([_ROOT, _ROOT], "Boot sequence"),
        ([{**_ROOT, "boot_index": 1}], "Mapping image to local is not supported"),
        ([_ROOT, _SWAP, _SWAP], "More than one swap drive"),
        ([_ROOT, {**_SWAP, "volume_size": 513}], "Swap drive requested is larger"),
        ([_ROOT, {**_BLANK, "volume_size": 5}], "Ephemeral disks requested are larger"),
        ([_ROOT, *[{**_BLANK, "volume_size": 1}] * 4], "more local devices than the limit"),
        ([_ROOT, {"source_type": "volume", "uuid": IMAGE}], f"failed to get volume {IMAGE}"),
        ([{**_ROOT, "destination_type": "volume"}], "no volumes"),
        ([{**_ROOT, "uuid": "other"}], "Invalid imageRef"),
        ([{**_ROOT, "volume_size": 9}], "root disk of the flavor has 5 GiB, not 9"),
        ([_ROOT | {"device_name": "vda"}, _BLANK | {"device_name": "vda"}], "two devices"),
        ([_ROOT | {"device_type": "cdrom"}], "device_type is 'cdrom', but must be disk"),
        ([_ROOT | {"disk_bus": "warp"}], "disk_bus is 'warp', but must be one of ide, sata"),
        ([_ROOT, _BLANK | {"guest_format": "zfs"}], "guest_format is 'zfs', but must be one of"),
        ([_ROOT | {"guest_format": "ext4"}], "guest_format is 'ext4', but the image defines"),
        ([_ROOT, _BLANK | {"volume_id": IMAGE}], "this cloud has no volumes"),
        ([_ROOT | {"image_id": OTHER}], "image_id and uuid are not the same"),
        ([_ROOT, _BLANK | {"no_device": "perhaps"}], "Invalid value for no_device"),
    ],
)
def test_disks_that_cannot_be_had_are_refused(world, devices, said):
    answer = _create(world, block_device_mapping_v2=devices)
    assert said in answer.json["badRequest"]["message"]


@pytest.mark.parametrize(
    ("properties", "bus", "said"),
    [
        ({"hw_machine_type": "q35"}, "ide", "disk_bus is 'ide', which machine q35 does not have"),
        ({"hw_usb_model": "none"}, "usb", "hw:usb_model is 'none', but the guest has devices"),
    ],
)
def test_a_bus_that_the_guest_will_not_have_is_refused(world, properties, bus, said):
    image = world.image(properties=properties)
    root = _ROOT | {"uuid": image.id}
    devices = [root, _BLANK | {"disk_bus": bus}]
    answer = _create(world, imageRef=image.id, block_device_mapping_v2=devices)
    assert said in answer.json["badRequest"]["message"]


def test_a_device_that_there_is_not_to_be_is_none(world):
    devices = [_ROOT, {**_BLANK, "volume_size": 1, "no_device": True}]
    assert _disks(world, _create(world, block_device_mapping_v2=devices)) == [
        ("image", 5120),
        ("blank", 4096),
        ("swap", 512),
    ]


def test_a_size_beside_a_flavor_that_leaves_it_to_the_image_is_refused(world):
    with world.api_db.begin() as session:
        flavors.create(session, a_flavor(flavorid="0", name="any", root_gb=0))
    server = _BODY | {"flavorRef": "0", "block_device_mapping_v2": [_ROOT | {"volume_size": 3}]}
    answer = world.client.post("/v2.1/servers", {"server": server}, token=ADMIN)
    assert "volume_size is 3, but a root disk of this flavor is" in answer.text
    assert answer.status_code == 400


def test_the_two_ways_to_name_devices_do_not_mix(world):
    answer = _create(
        world,
        block_device_mapping=[{"volume_id": IMAGE, "device_name": "vdb"}],
        block_device_mapping_v2=[_ROOT],
    )
    assert "syntaxes" in answer.json["badRequest"]["message"]


def _file(size, *, path="/etc/motd"):
    return {"path": path, "contents": base64.b64encode(b"x" * size).decode()}


def test_files_are_kept_for_the_guest(world):
    answer = _create(world, version="2.56", networks="none", personality=[_file(3)])
    (file,) = _kept(world, answer).provisions.files
    assert (file.path, file.contents) == ("/etc/motd", "eHh4")


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ([_file(1)] * 6, "Personality file limit exceeded"),
        ([_file(10241)], "Personality file content exceeds maximum 10240"),
        ([_file(1, path="/" + "p" * 255)], "Personality file path exceeds maximum 255"),
    ],
)
def test_files_have_limits(world, files, said):
    answer = _create(world, personality=files)
    assert said in answer.json["forbidden"]["message"]


def test_as_large_as_the_limits_say_is_not_too_large(world):
    files = [_file(10240, path="/" + "p" * 254)] * 5
    assert _create(world, personality=files).status_code == 202


def test_files_that_are_not_base64_are_refused_and_not_repeated(world):
    answer = _create(world, personality=[{"path": "/a", "contents": "geheim!"}])
    assert answer.status_code == 400
    assert "geheim" not in answer.text


def test_user_data_may_have_64_kib_and_no_more(world):
    assert _create(world, user_data="A" * 65532).status_code == 202
    assert _create(world, user_data="A" * 65536).status_code == 400
    assert _create(world, user_data="no base64!").status_code == 400


def test_the_guest_gets_the_password_that_the_user_is_told(world):
    for values in ({}, {"adminPass": "of my own"}):
        answer = _create(world, **values)
        told = answer.json["server"]["adminPass"]
        assert _kept(world, answer).provisions.admin_password == told
    assert told == "of my own"


def test_nobody_is_told_a_password_where_operators_do_not_want_it(tmp_path):
    with made_in(tmp_path, ApiOptions(instance_password=False)) as world:
        answer = _create(world, flavorRef="1", adminPass="secret")
        assert answer.status_code == 202
        assert "secret" not in answer.text
        assert "adminPass" not in answer.json["server"]


def _shown(world, answer, *, version="2.96"):
    path = f"/v2.1/servers/{answer.json['server']['id']}"
    return world.client.get(path, version=version).json["server"]


@pytest.mark.parametrize(
    ("image_says", "asked", "kept"),
    [
        (None, {}, "MANUAL"),
        (None, {"OS-DCF:diskConfig": "AUTO"}, "AUTO"),
        ("True", {}, "AUTO"),
        ("True", {"OS-DCF:diskConfig": "MANUAL"}, "MANUAL"),
        ("False", {}, "MANUAL"),
    ],
)
def test_a_disk_is_divided_as_user_or_image_say(world, image_says, asked, kept):
    image = an_image(properties={"auto_disk_config": image_says} if image_says else {})
    world.images.images[image.id] = image
    answer = _create(world, imageRef=image.id, **asked)
    assert answer.json["server"]["OS-DCF:diskConfig"] == kept
    assert _shown(world, answer)["OS-DCF:diskConfig"] == kept


@pytest.mark.parametrize("name", ["auto_disk_config", "hw_auto_disk_config"])
def test_an_image_may_forbid_that_its_disk_grows(world, name):
    image = an_image(properties={name: "False"})
    world.images.images[image.id] = image
    answer = _create(world, imageRef=image.id, **{"OS-DCF:diskConfig": "AUTO"})
    assert "automatic disk resize disabled" in answer.json["badRequest"]["message"]


def test_lists_of_wishes_and_shows_tell_no_secrets(world):
    answer = _create(world, adminPass="s3cret", personality=[_file(3)])
    for path in ("/v2.1/servers/detail", f"/v2.1/servers/{answer.json['server']['id']}"):
        told = world.client.get(path, token=ALICE).text
        assert "s3cret" not in told
        assert "eHh4" not in told


def test_the_default_security_group_is_every_servers(world):
    answer = _create(world, security_groups=[{"name": "default"}])
    assert answer.json["server"]["security_groups"] == [{"name": "default"}]
    assert _shown(world, answer)["security_groups"] == [{"name": "default"}]


def _guest_name(world, server_id):
    answer = world.client.get(f"/v2.1/servers/{server_id}", token=ADMIN)
    return answer.json["server"]["OS-EXT-SRV-ATTR:instance_name"]


def test_a_guest_is_named_by_the_template_once_and_for_all(world, tmp_path):
    server_id = _create(world).json["server"]["id"]
    assert _guest_name(world, server_id) == f"instance-{server_id}"
    template = "vm-%(hostname)s-%(uuid)s"
    with made_in(tmp_path, ApiOptions(instance_name_template=template)) as other:
        answer = _create(other, name="Long " * 19 + "name", flavorRef="1")
        made = _kept(other, answer)
        assert made.instance_name == f"vm-{made.hostname}-{made.uuid}"
        assert _guest_name(other, made.uuid) == made.instance_name


def test_the_roles_that_its_user_had_are_kept_for_the_guest(world):
    assert _kept(world, _create(world)).provisions.boot_roles == ["member", "reader"]


def test_the_names_of_its_owner_are_kept_for_who_meters_it(tmp_path):
    with made_in(tmp_path, ApiOptions(), authentication=WithNames()) as world:
        kept = _kept(world, _create(world, flavorRef="1")).provisions
        assert (kept.user_name, kept.project_name) == ("Alice", "The Lab")
