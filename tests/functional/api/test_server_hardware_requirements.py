"""NUMA cells and PCI devices of new servers, as users meet them."""

import pytest

from roost import states
from roost.api.dependencies import ApiOptions
from roost.db.api import build_requests, flavors
from roost.hardware import pci_aliases
from tests.api_harness import ADMIN, ALICE, IMAGE
from tests.builders import CELL1, a_flavor, an_image

GPU = '{"name": "gpu", "vendor_id": "10de", "product_id": "1eb8", "numa_policy": "required"}'


@pytest.fixture
def options():
    return ApiOptions(pci_aliases=pci_aliases.parse([GPU]))


def create(world, specs, properties=None):
    flavor = a_flavor(flavorid="f", name="f", vcpus=4, memory_mb=2048, extra_specs=specs)
    image = an_image(id=IMAGE, properties=properties or {})
    world.images.images[IMAGE] = image
    with world.api_db.begin() as session:
        flavors.create(session, flavor)
    body = {"server": {"name": "web", "flavorRef": "f", "imageRef": IMAGE}}
    return world.client.post("/v2.1/servers", body, token=ALICE)


def spec_of(world, answer):
    with world.api_db.read() as session:
        build_request = build_requests.find(session, answer.json["server"]["id"])
        return build_requests.get_spec(session, build_request.request_uuid)


def test_signed_images_are_refused_where_nobody_can_verify_them(world):
    body = {"server": {"name": "web", "flavorRef": "1", "imageRef": IMAGE, "networks": "none"}}
    body["server"]["trusted_image_certificates"] = ["a"]
    answer = world.client.post("/v2.1/servers", body, token=ALICE, version="2.63")
    assert answer.status_code == 400
    assert "cannot verify signatures of images" in answer.text
    server = world.place(CELL1, vm_state=states.ACTIVE, task_state=None)
    asked = {"rebuild": {"imageRef": IMAGE, "trusted_image_certificates": ["a"]}}
    path = f"/v2.1/servers/{server.uuid}/action"
    answer = world.client.post(path, asked, token=ALICE, version="2.63")
    assert answer.status_code == 400
    assert "leave trusted_image_certificates out" in answer.text


def test_a_plain_server_asks_for_neither_cells_nor_devices(world):
    spec = spec_of(world, create(world, {}))
    assert (spec.numa_topology, spec.pci_requests) == (None, [])


def test_cells_and_devices_reach_the_request_spec(world):
    specs = {
        "hw:numa_nodes": "2",
        "hw:cpu_policy": "dedicated",
        "hw:mem_page_size": "2MB",
        "pci_passthrough:alias": "gpu:1",
    }
    spec = spec_of(world, create(world, specs, {"hw_cpu_thread_policy": "isolate"}))
    assert [cell.pcpus for cell in spec.numa_topology.cells] == [[0, 1], [2, 3]]
    assert [cell.page_size for cell in spec.numa_topology.cells] == ["2048", "2048"]
    assert spec.numa_topology.cpu_thread_policy == "isolate"
    (request,) = spec.pci_requests
    assert (request.alias, request.count, request.numa_policy) == ("gpu", 1, "required")


@pytest.mark.parametrize(("token", "status"), [(ALICE, 403), (ADMIN, 202)])
def test_who_may_have_a_disk_that_only_the_image_sizes(world, token, status):
    with world.api_db.begin() as session:
        flavors.create(session, a_flavor(flavorid="f", name="f", root_gb=0))
    body = {"server": {"name": "web", "flavorRef": "f", "imageRef": IMAGE}}
    answer = world.client.post("/v2.1/servers", body, token=token)
    assert answer.status_code == status
    assert status == 202 or "servers:create:zero_disk_flavor" in answer.text


@pytest.mark.parametrize(
    ("specs", "properties", "said"),
    [
        ({"hw:numa_nodes": "3"}, {}, "cannot be evenly distributed"),
        ({}, {"hw_disk_bus": "floppy"}, "hw_disk_bus is 'floppy', but must be one of ide, sata"),
        ({"pci_passthrough:alias": "fpga:1"}, {}, "PCI alias fpga is not defined"),
        ({"hw:mem_encryption": "yes"}, {}, "cannot be encrypted. Choose another flavor, or have"),
        ({}, {"os_secure_boot": "required"}, "needs an image with hw_firmware_type=uefi"),
    ],
)
def test_what_cannot_be_is_told_and_nothing_is_kept(world, specs, properties, said):
    answer = create(world, specs, properties)
    assert answer.status_code == 400
    assert said in answer.json["badRequest"]["message"]
    assert world.usage()["instances"] == 0
