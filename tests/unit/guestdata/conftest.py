"""A guest with all that there may be to tell of it."""

import base64
import dataclasses

import pytest

from roost.guestdata.about import About, GuestFile, Operator
from roost.objects import InstanceNUMACell, InstanceNUMATopology, NetworkInfo, Vif
from tests.builders import a_keypair, an_image, an_instance

UUID = "d8e02d56-2648-49a3-bf97-6be8f1204f38"
IMAGE = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"
USER_DATA = b"#!/bin/sh\necho \xff\n"


def a_vif(**values):
    return Vif.of(
        **{
            "id": "11111111-2222-4333-8444-555555555555",
            "network_id": "99999999-2222-4333-8444-555555555555",
            "network_name": "private",
            "mac": "fa:16:3e:00:00:01",
            "ip": "10.0.0.5",
            "cidr": "10.0.0.0/24",
            "gateway": "10.0.0.1",
            "host": "h1",
            "tag": None,
        }
        | values
    )


IPV6 = a_vif(
    id="66666666-2222-4333-8444-555555555555",
    mac="fa:16:3e:00:00:02",
    ip="fd00::5",
    cidr="fd00::/64",
    gateway="fd00::1",
    tag="storage",
)


def pinned():
    cells = [
        InstanceNUMACell.of(id=0, cpus=[0], pcpus=[3, 2], memory_mb=1, page_kb=4),
        InstanceNUMACell.of(id=1, cpus=[], pcpus=[1], memory_mb=1, page_kb=4),
    ]
    return InstanceNUMATopology.of(cells=cells)


@pytest.fixture
def about():
    instance = an_instance(
        uuid=UUID,
        image=an_image(id=IMAGE),
        hostname="web",
        display_name="My web",
        launch_index=2,
        availability_zone="nova",
        keypair=a_keypair(name="mine"),
        metadata={"role": "web"},
        user_data=base64.b64encode(USER_DATA).decode(),
        numa_topology=pinned(),
    )
    return About(
        instance=instance,
        network_info=NetworkInfo.of(vifs=[a_vif(), IPV6]),
        operator=Operator(domain="novalocal", vendor_data={"proxy": "http://proxy"}),
        files=[GuestFile("/etc/banner", b"hello")],
        disk_tags=["scratch"],
        seed=b"\x01" * 512,
    )


@pytest.fixture
def bare():
    """One that nobody has said anything about."""
    return About(instance=an_instance(), network_info=NetworkInfo.of(vifs=[]))


@pytest.fixture
def about_with(about):
    """The guest, with other values of its instance."""

    def about_with(**values):
        instance = about.instance.obj_clone()
        for name, value in values.items():
            setattr(instance, name, value)
        return dataclasses.replace(about, instance=instance)

    return about_with
