"""Hosts that die or are given up get no servers, and get some again when they are back.

Told of a ``cloud`` whose daemons count as down after a few seconds.
"""

import pytest

from tests.stories.cloud import wait_until


@pytest.fixture(autouse=True)
def clean_slate(cloud):
    yield
    cloud.delete_all()
    assert cloud.audit() == {}


def up(cloud):
    """The hosts that the schedulers may choose, as far as life goes."""
    return {host for host, report in cloud.hosts().items() if report.up}


def wait_for_all(cloud):
    wait_until(lambda: up(cloud) == set(cloud.plan.all_hosts), "all hosts up again")


def let_take_servers(cloud, host, *, may):
    """Enable or disable a host, and wait until the schedulers know."""
    cloud.change_service(host, status="enabled" if may else "disabled")
    wait_until(lambda: cloud.hosts()[host].enabled == may, f"the schedulers to know of {host}")


def hosts_of_servers(cloud, count):
    servers = cloud.wait([uuid for _ in range(count) for uuid in cloud.boot()], "ACTIVE")
    return {server["OS-EXT-SRV-ATTR:host"] for server in servers}


def test_every_host_is_up_for_the_schedulers_too(cloud):
    wait_for_all(cloud)


def test_a_host_that_died_gets_no_servers_until_it_is_back(cloud):
    victim = cloud.plan.all_hosts[0]
    with cloud.without(victim):
        wait_until(lambda: cloud.service(victim)["state"] == "down", "os-services to say so")
        others = set(cloud.plan.all_hosts) - {victim}
        wait_until(lambda: up(cloud) == others, "the schedulers to know, of this one only")
        assert victim not in hosts_of_servers(cloud, count=6)
        assert f"guests on host {victim}: it is down" in cloud.audit_unchecked()
    wait_for_all(cloud)
    assert cloud.service(victim)["state"] == "up"
    (server,) = cloud.wait(cloud.boot(availability_zone=f"nova:{victim}"), "ACTIVE")
    assert (server["OS-EXT-SRV-ATTR:host"], server["host_status"]) == (victim, "UP")


def test_a_host_that_is_forced_down_gets_no_servers_though_it_lives(cloud):
    victim = cloud.plan.all_hosts[-1]
    cloud.change_service(victim, forced_down=True)
    assert cloud.service(victim)["state"] == "down"
    wait_until(lambda: victim not in up(cloud), "the schedulers to know", timeout=10)
    assert victim not in hosts_of_servers(cloud, count=6)
    cloud.change_service(victim, forced_down=False)
    wait_for_all(cloud)


def test_a_cell_without_conductors_gets_no_servers_until_one_is_back(cloud):
    lost, *others = cloud.plan.cell_names
    with cloud.without(f"{lost}-conductor"):
        remaining = {host for cell in others for host in cloud.plan.hosts_of(cell)}
        wait_until(lambda: up(cloud) == remaining, "the end of the cell")
        assert hosts_of_servers(cloud, count=4) <= remaining
    wait_for_all(cloud)


def test_a_host_that_is_disabled_stays_so_through_its_own_reports(cloud):
    closed = cloud.plan.all_hosts[1]
    cloud.change_service(closed, status="disabled")
    before = cloud.hosts()[closed]
    assert not before.enabled
    wait_until(lambda: cloud.hosts()[closed].reported_at > before.reported_at, "a report of it")
    assert not cloud.hosts()[closed].enabled
    assert closed not in hosts_of_servers(cloud, count=6)
    cloud.change_service(closed, status="enabled")
    assert cloud.hosts()[closed].enabled
