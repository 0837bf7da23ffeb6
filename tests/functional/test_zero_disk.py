"""Servers of flavors without a root disk size: what their images need is claimed of their hosts."""

import io

import pytest

from roost.context import admin_context
from roost.image.local import LocalImageStore
from tests.functional.embedded import embedded_cloud

IMAGE_GB = 3


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    with embedded_cloud(tmp_path_factory.mktemp("rig"), cells=1, hosts=1) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def image(cloud):
    images = LocalImageStore(cloud.plan.images)
    data = io.BytesIO(b"bits")
    return images.add(admin_context(), name="sized", data=data, min_disk=IMAGE_GB).id


@pytest.mark.parametrize(
    ("disk", "ephemeral", "claimed"), [(0, 0, IMAGE_GB), (0, 2, IMAGE_GB + 2), (4, 0, 4)]
)
def test_a_claim_has_the_size_of_the_image_where_the_flavor_has_none(
    cloud, image, disk, ephemeral, claimed
):
    sizes = {"disk": disk, "OS-FLV-EXT-DATA:ephemeral": ephemeral}
    flavor = cloud.create_flavor(name=f"{disk}-{ephemeral}", **sizes)
    before = cloud.hosts()["cell1-host1"].amount("DISK_GB", "used")
    (server,) = cloud.boot(flavorRef=flavor, imageRef=image)
    cloud.wait([server], "ACTIVE")
    assert cloud.claims()[server]["allocations"][""].get("DISK_GB", 0) == claimed
    assert cloud.hosts()["cell1-host1"].amount("DISK_GB", "used") - before == claimed
