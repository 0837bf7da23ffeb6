"""A host that has no room for an image, among others that have."""

import pathlib

import pytest

from tests.functional.embedded import embedded_cloud


@pytest.fixture
def cloud(tmp_path):
    """One cell of two hosts, the first of which may have images of a byte."""
    with embedded_cloud(tmp_path / "rig", cells=1, hosts=2) as cloud:
        yield cloud


def bound(rig, host):
    """Start a host's daemon again with a bound."""
    rig.kill(host)
    with rig.plan.config_file(host).open("a") as file:
        file.write("\n[compute]\nimage_cache_max_bytes = 1\n")
    rig.start_daemon(host)


def test_a_build_goes_to_a_host_that_has_room_for_its_image(cloud):
    full, other = cloud.plan.all_hosts
    bound(cloud.rig, full)
    servers = cloud.boot(count=6)
    cloud.wait(servers, "ACTIVE")
    assert {cloud.show(server)["OS-EXT-SRV-ATTR:host"] for server in servers} == {other}
    failed = [event for one in servers for event in cloud.client.boot_events(one) if event.failed]
    assert {(event.host, event.name) for event in failed} == {(full, "compute.image")}
    assert [*pathlib.Path(cloud.rig.conf(full).state_path).glob("**/*.img")] == []
