"""The documents that guests know from EC2."""

import dataclasses
import json

import pytest

from roost.guestdata import ec2
from roost.objects import NetworkInfo
from tests.builders import a_keypair, a_vif, an_image
from tests.unit.guestdata.conftest import USER_DATA

# What a fact came with.
FACTS = {
    "instance-id": "1.0",
    "local-hostname": "2007-01-19",
    "product-codes": "2007-03-01",
    "instance-type": "2007-08-29",
    "placement/availability-zone": "2007-12-15",
    "block-device-mapping/root": "2007-12-15",
}


def latest(about, name):
    return ec2.tree(about)[f"latest/meta-data/{name}"].decode()


def test_the_instance_is_told_in_words_of_ec2(about):
    assert latest(about, "instance-id") == "i-d8e02d56264849a3b"
    assert latest(about, "ami-id") == "ami-cccccccccccc4ccc8"
    assert latest(about, "ami-launch-index") == "2"
    assert latest(about, "hostname") == "web.novalocal"
    assert latest(about, "local-ipv4") == "10.0.0.5"
    assert latest(about, "public-ipv4") == ""
    assert latest(about, "reservation-id") == "r-12345678"
    assert latest(about, "security-groups") == "default"
    assert latest(about, "instance-type") == "m1.tiny"
    assert latest(about, "placement/availability-zone") == "nova"
    assert latest(about, "public-keys/0/openssh-key") == about.instance.keypair.public_key


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({}, "vda"),
        ({"image": an_image(properties={"hw_disk_bus": "scsi"})}, "sda"),
        ({"root_device_name": "/dev/hda"}, "hda"),
    ],
)
def test_the_root_disk_has_the_name_that_the_server_shows(about_with, values, name):
    about = about_with(**values)
    assert latest(about, "block-device-mapping/ami") == name
    assert latest(about, "block-device-mapping/root") == f"/dev/{name}"


def test_a_floating_address_is_the_public_one(about):
    vif = a_vif(ip="10.0.0.5")
    vif.addresses[0].floating = ["203.0.113.5"]
    about = dataclasses.replace(about, network_info=NetworkInfo.of(vifs=[vif]))
    assert latest(about, "public-ipv4") == "203.0.113.5"
    assert latest(about, "local-ipv4") == "10.0.0.5"


@pytest.mark.parametrize(("name", "since"), FACTS.items())
def test_a_fact_is_told_from_its_version_on(name, since, about):
    files = ec2.tree(about)
    telling = [each for each in ec2.VERSIONS if f"{each}/meta-data/{name}" in files]
    assert telling == [each for each in ec2.VERSIONS if each >= since]


def test_kernel_and_ramdisk_are_told_of_images_that_have_them(about, about_with):
    assert "latest/meta-data/kernel-id" not in ec2.tree(about)
    apart = about_with(image=an_image(properties={"kernel_id": "12345678-9abc-4def-8123-0"}))
    assert latest(apart, "kernel-id") == "aki-123456789abc4def8"


def test_a_guest_without_image_key_or_address_can_be_told(bare, about_with):
    assert latest(bare, "local-ipv4") == ""
    assert latest(about_with(image=None), "ami-id") == ""
    assert ec2.key_names(bare) == []


def test_only_keys_for_ssh_are_told(about_with):
    assert ec2.key_names(about_with(keypair=a_keypair(type="x509"))) == []


def test_a_drive_has_each_version_in_one_file(about):
    files = ec2.drive(about)
    assert files["ec2/latest/user-data"] == USER_DATA
    assert json.loads(files["ec2/2009-04-04/meta-data.json"]) == ec2.meta_data(about)
