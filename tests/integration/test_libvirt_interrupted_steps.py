"""What is left on a host of libvirt of builds and deletes that break off anywhere: nothing."""

import pytest

from roost import states
from roost.compute.network.bindings import tap_of
from tests.external.links import left_of, links
from tests.stories.interrupted_steps import BUILD, DELETE, WHY, Site, broken, dies, fail

pytestmark = [
    pytest.mark.timeout(600),  # libvirt looks at QEMU the first time
    pytest.mark.usefixtures("network_programs"),
]
ELSEWHERE = {"host": "h2", "attempt": 2, "task_state": states.SPAWNING}
BUILT = {"vm_state": states.ACTIVE, "task_state": None}


@pytest.fixture
def site(libvirtd, tmp_path):
    site = Site(tmp_path, libvirtd.uri)
    yield site
    site.host().host.destroy(site.instance_uuid)


@pytest.fixture
def left(site, libvirtd):
    """Return what there is of the instance on this machine."""

    def left():
        found = left_of(site.network_id, site.path / "bridge")
        found += [tap for tap in [tap_of(site.port_id)] if tap in links()]
        found += [name for name in libvirtd.guests() if site.instance_uuid in name]
        folders = [*site.path.rglob(f"*{site.instance_uuid}*"), *site.path.rglob("*.part")]
        return found + site.host().virt.list_guests() + [str(path) for path in folders]

    return left


def test_a_whole_build_and_a_whole_delete(site, left):
    """What the others look for is there, as long as the guest is."""
    host = site.host()
    host.build()
    assert host.row.vm_state == states.ACTIVE
    assert len(left()) >= 10
    host.delete()
    assert (left(), host.conductor.buried) == ([], [site.instance_uuid])


@pytest.mark.parametrize("part", BUILD)
def test_a_build_that_fails_leaves_nothing(site, left, part):
    host = site.host()
    with broken(BUILD[part], first=fail):
        host.build()
    ((*_, why),) = host.conductor.rescheduled
    assert WHY in why
    assert left() == []


@pytest.mark.parametrize("part", BUILD)
def test_what_a_daemon_left_that_died_in_a_build_goes_when_it_starts_again(site, left, part):
    assert dies(site, part, of=BUILD)
    site.host(**ELSEWHERE).working.start()
    assert left() == []


def test_what_could_not_be_undone_goes_when_the_host_next_compares(site, left):
    host = site.host()
    with (
        broken(BUILD["tap and process"], then=fail),
        broken(DELETE["process and tap"], first=fail),
    ):
        host.build()
    assert site.instance_uuid in host.virt.list_guests()
    site.host(**ELSEWHERE).working.reconcile()
    assert left() == []


def test_a_delete_that_fails_at_one_part_after_the_other_is_asked_for_again(site, left):
    host = site.host()
    host.build()
    for part in DELETE:
        with broken(DELETE[part], then=fail):
            host.delete()
        assert host.conductor.buried == [], part
    host.delete()
    assert (left(), host.conductor.buried) == ([], [site.instance_uuid])


def test_a_delete_of_which_daemons_die_one_after_the_other_is_asked_for_again(site, left):
    site.host().build()
    for part in DELETE:
        assert dies(site, part, of=DELETE), part
    host = site.host(**BUILT)
    host.delete()
    assert (left(), host.conductor.buried) == ([], [site.instance_uuid])
