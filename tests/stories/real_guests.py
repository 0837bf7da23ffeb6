"""A deployment whose guests are real: one host of libvirt, and the image of a Linux."""

import contextlib

from roost.context import admin_context
from roost.image.local import LocalImageStore
from roost.rig.hypervisors import linux_guest
from tests.stories.cloud import Cloud, wait_until

BOOTED = 240.0  # seconds: some five, on a machine that has nothing else to do


@contextlib.contextmanager
def cloud_of(rig, libvirtd, linux_image):
    """Start an embedded rig, and leave neither a server nor a guest."""
    rig.start()
    with linux_of(rig, linux_image) as cloud:
        yield cloud
    rig.stop()
    assert libvirtd.guests() == {}


@contextlib.contextmanager
def linux_of(rig, linux_image):
    """Offer a Linux on a rig that runs, and leave no server of it."""
    cloud = Cloud(rig)
    with linux_image.open("rb") as data:
        added = LocalImageStore(rig.plan.images).add(
            admin_context(), name="linux", data=data, disk_format="qcow2"
        )
    cloud.image = added.id
    cloud.flavor = cloud.create_flavor(name="linux", ram=linux_guest.MEMORY_MB)
    yield cloud
    cloud.delete_all()
    assert cloud.audit() == {}
    cloud.close()


def console(cloud, server_id):
    """Return what a guest has said."""
    body = {"os-getConsoleOutput": {}}
    return cloud.client.post(f"/servers/{server_id}/action", body)["output"]


def wait_until_it_says(cloud, server_id, words):
    wait_until(lambda: words in console(cloud, server_id), words, timeout=BOOTED)
