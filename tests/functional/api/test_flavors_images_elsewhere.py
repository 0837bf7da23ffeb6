"""Flavors and images as other clouds have them boot here: what nobody reads is passed over."""

import logging

import pytest

from roost.compute.virt.libvirt import node
from roost.compute.virt.libvirt.hardware import Hardware
from roost.db.api import build_requests, flavors
from roost.hardware import names
from roost.scheduler.request import Request
from tests.api_harness import ALICE, IMAGE
from tests.builders import a_flavor, an_image, an_instance
from tests.unit.scheduler.host_builders import a_row, filters_of, hosts_of

HOST = {
    "hypervisor_type": "QEMU",
    "hypervisor_version": 8002000,
    "architectures": ["x86_64", "i686"],
    "traits": [*node._ALWAYS, *node._OF_PCS, "HW_CPU_X86_AVX2"],
    "capabilities": node.comparable(
        {"arch": "x86_64", "vendor": "Intel", "topology": {"cores": 8}, "features": ["vmx"]}
    ),
}
FILTERS = filters_of(
    *("aggregate_extra_specs", "traits", "compute_capabilities", "image_properties"),
    "isolated_aggregates",
)
# Name by name, as in public documents of those who make them.
IMAGES = {
    "scs": """
        architecture=x86_64 hypervisor_type=kvm os_distro=ubuntu os_version=24.04
        os_purpose=generic os_hash_algo=sha512 hw_disk_bus=scsi hw_scsi_model=virtio-scsi
        hw_rng_model=virtio hw_watchdog_action=reset hw_pmu=true hw_video_ram=16
        hw_vif_multiqueue_enabled=true hw_mem_encryption=false hw_firmware_type=uefi
        hw_machine_type=q35 os_secure_boot=optional image_source=https://example.org
        image_description=https://example.org image_build_date=2026-01-01
        image_original_user=ubuntu patchlevel=1 replace_frequency=monthly provided_until=notice
        uuid_validity=last-3 hotfix_hours=0 maintained_until=2029-04-01 license_included=false
        l1_support_contact=mailto:a@example.org trait:HW_CPU_X86_AVX2=required""",
    "kolla": "os_type=linux img_hv_type=kvm hw_architecture=x86_64 hw_rng_model=virtio",
    "ubuntu": """
        hw_qemu_guest_agent=yes os_require_quiesce=yes img_config_drive=optional
        hw_machine_type=q35 hw_firmware_type=uefi hypervisor_type=kvm os_type=linux""",
    "no agent": "os_require_quiesce=yes hw_disk_bus=scsi hw_scsi_model=virtio-scsi",
    "juju": """
        architecture=x86_64 hypervisor_type=qemu os_distro=ubuntu os_version=24.04
        content_id=auto.sync source_content_id=com.ubuntu.cloud:released:download
        product_name=com.ubuntu.cloud:server:24.04:amd64 version_name=20260101
        item_name=disk1.img simplestreams_metadata={}""",
    "windows": """
        os_type=windows os_distro=windows os_admin_user=Administrator hw_disk_bus=sata
        hw_vif_model=e1000 hw_time_hpet=true hw_video_model=qxl hw_video_ram=64
        hw_pointer_model=usbtablet img_hide_hypervisor_id=true hw_boot_menu=true
        hw_serial_port_count=0""",
    "vmware": """
        vmware_adaptertype=lsiLogic vmware_disktype=sparse vmware_ostype=otherGuest
        img_linked_clone=no hw_floppy_bus=fdc""",
    "ec2": """
        root_device_name=/dev/vda bdm_v2=True ipxe_boot=true block_device_mapping=[]
        mappings=[{"virtual":"root","device":"/dev/vda"}]""",
    "snapshot": """
        base_image_ref=1 image_type=snapshot owner_id=p user_id=u instance_uuid=1
        boot_roles=member owner_project_name=p""",
    "odd": """
        hw:cpu_policy=dedicated resources:VGPU=1 hw_emulator_threads_policy=share
        hw_firmware_stateless=true hw_cpu_realtime_mask=^0 hw_unheard_of=1""",
}
FLAVORS = {
    "scs": """
        scs:name-v1=SCS-2V:8 scs:name-v2=SCS-2V-8 scs:cpu-type=shared-core scs:disk0-type=ssd
        hw_rng:allowed=true hw:mem_page_size=any""",
    "catalog": ":architecture=x86_architecture :category=general_purpose",
    "old": """
        hw:cpu_threads_policy=prefer hw:qemu_guest_agent=yes hw:disk_bus=scsi os:type=linux
        quota:disk_iops=100 hide_hypervisor_id=true""",
    "tripleo": """
        hw:cpu_policy=dedicated hw:mem_page_size=large hw:emulator_threads_policy=isolate
        hw:numa_mempolicy=preferred""",
    "vmware": """
        quota:memory_limit=512 quota:memory_shares_level=high quota:cpu_limit=1000
        quota:disk_io_reservation=1""",
    "limits": """
        quota:cpu_quota=-1 quota:cpu_shares=0 quota:vif_inbound_average=0
        quota:disk_total_iops_sec=0 hw:serial_port_count=0""",
    "placement": """
        resources:VCPU=4 resources:MEMORY_MB=2048 resources:DISK_GB=0 group_policy=none
        hw:cpu_realtime_mask=^0 hw:mem_encryption_model=amd-sev""",
    "capabilities": """
        capabilities:cpu_info:features=vmx capabilities:cpu_info:topology:cores=8""",
}


def said(text):
    return dict(part.split("=", 1) for part in text.split())


def booted(world, *, specs, properties):
    """Return what is asked of the scheduler for a new server, whom the API lets in."""
    sizes = {"vcpus": 4, "memory_mb": 2048, "root_gb": 20}
    image = an_image(id=IMAGE, properties=said(properties))
    world.images.images[IMAGE] = image
    with world.api_db.begin() as session:
        flavors.create(session, a_flavor(flavorid="f", name="f", extra_specs=said(specs), **sizes))
    body = {"server": {"name": "web", "flavorRef": "f", "imageRef": IMAGE}}
    answer = world.client.post("/v2.1/servers", body, token=ALICE)
    assert answer.status_code == 202, answer.text
    with world.api_db.read() as session:
        build_request = build_requests.find(session, answer.json["server"]["id"])
        return build_requests.get_spec(session, build_request.request_uuid)


@pytest.mark.parametrize(
    ("specs", "properties"),
    [*((specs, "") for specs in FLAVORS.values()), *(("", image) for image in IMAGES.values())],
    ids=[*(f"flavor-{name}" for name in FLAVORS), *(f"image-{name}" for name in IMAGES)],
)
def test_flavors_and_images_of_other_clouds_boot(world, specs, properties):
    spec = booted(world, specs=specs, properties=properties)
    request, hosts = Request.of(spec), hosts_of(a_row("h1", **HOST))
    for each in FILTERS:
        refusals = each.refuse(request, hosts) if each.applies_to(request) else []
        assert not [reason for reason, mask in refusals if mask.any()]
    Hardware.of(an_instance(flavor=spec.flavor, image=spec.image))


def test_what_is_passed_over_is_told_in_the_log_once(world, caplog):
    names._warn.cache_clear()
    with caplog.at_level(logging.WARNING, logger=names.__name__):
        booted(world, specs=FLAVORS["old"], properties=IMAGES["ec2"])
        body = {"server": {"name": "web", "flavorRef": "f", "imageRef": IMAGE}}
        world.client.post("/v2.1/servers", body, token=ALICE)
    told = [record.message for record in caplog.records]
    assert sorted(one.split("'")[1] for one in told) == [
        *("hw:cpu_threads_policy", "hw:disk_bus", "hw:qemu_guest_agent", "mappings"),
        *("os:type", "quota:disk_iops", "root_device_name"),
    ]
    assert any(one.endswith(" Did you mean hw:cpu_thread_policy?") for one in told)
