"""What every virt driver promises whose guests go to other hosts while they run.

A module that imports these tests has two fixtures: ``image_path`` is a whole image that boots;
``hosts`` are two hosts with all that they have in ``folder``: ``source`` and ``destination`` return
drivers of theirs; moves take seconds while ``slowed`` lasts (for ever, as far as a story can tell
that asks for ``no_end``), and fail for want of their destination while ``dies`` does.
"""

import contextlib
import time

import pytest

from roost import exception
from roost.compute.virt.driver import GuestResources
from roost.compute.virt.live_migration import MigratesGuests
from roost.concurrency import abandonable
from roost.objects import NetworkInfo
from roost.operations.presence import MigrationOutcome, Presence, outcome_of
from roost.states import HELD, RUNNING
from tests.builders import a_context, a_flavor, a_uuid, a_vif, an_image, an_instance
from tests.stories.cloud import wait_until

MEMORY_MB = 128
SOON = 60.0  # seconds
LOOK = 0.05


class Move:
    """A guest that is to go from one host to the other."""

    def __init__(self, hosts, instance, image_path, vifs):
        self.hosts = hosts
        self.instance = instance
        self.image_path = image_path
        self.info = self.info_there = NetworkInfo.of(vifs=vifs)
        self.source, self.destination = hosts.source(), hosts.destination()

    @property
    def uuid(self):
        return self.instance.uuid

    def spawn(self, **values):
        self.source.spawn(
            a_context(),
            self.instance,
            image_path=self.image_path,
            network_info=self.info,
            resources=GuestResources(),
            **values,
        )

    def prepare(self, *, with_image=True):
        outgoing = self.source.departures().describe(self.uuid)
        self.destination.arrivals().check(outgoing)
        return self.destination.arrivals().prepare(
            a_context(),
            self.instance,
            outgoing,
            image_path=self.image_path if with_image else None,
            network_info=self.info_there,
            resources=GuestResources(),
        )

    def run(self, **values):
        self.source.departures().move(self.uuid, self.prepare(**values))

    def finish(self):
        console = self.source.departures().finish(self.uuid)
        self.destination.arrivals().finish(self.instance, console)

    def where(self):
        """Ask both hosts, by drivers that know of nothing else."""
        hosts = (self.hosts.source(), self.hosts.destination())
        return tuple(host.presence(self.uuid) for host in hosts)

    def outcome(self):
        return outcome_of(self.source.presence(self.uuid), self.destination.presence(self.uuid))

    @contextlib.contextmanager
    def under_way(self):
        """Yield the future of a move that has copied something and needs seconds for the rest."""
        with self.hosts.slowed():
            self.source = self.hosts.source()
            incoming = self.prepare(with_image=False)
            move = self.source.departures().move
            moving = abandonable(lambda: move(self.uuid, incoming), name="a move")
            wait_until(self.has_copied, "something is copied", timeout=SOON)
            yield moving

    def has_copied(self):
        found = self.source.departures().progress(self.uuid)
        return found is not None and found.memory_processed + found.disk_processed > 0


@pytest.fixture
def a_move(hosts, image_path):
    """Return a guest that runs at the source, of an instance with these values."""
    kind = "qcow2" if image_path.suffix == ".qcow2" else "raw"
    image = an_image(size=image_path.stat().st_size, disk_format=kind)

    def a_move(vifs=(), **values):
        flavor = a_flavor(memory_mb=MEMORY_MB, root_gb=0)
        instance = an_instance(**{"flavor": flavor, "image": image} | values)
        return Move(hosts, instance, image_path, [*vifs])

    return a_move


@pytest.fixture
def no_end():
    """Asked for by stories whose slowed moves must not come to their end by themselves."""


@pytest.fixture
def spawned(a_move):
    move = a_move()
    move.spawn()
    return move


def test_both_hosts_say_that_they_can(hosts):
    assert isinstance(hosts.source(), MigratesGuests)
    assert isinstance(hosts.destination(), MigratesGuests)


@pytest.mark.parametrize("with_image", [True, False])
def test_a_guest_goes_with_its_disks_and_nothing_of_it_stays(a_move, with_image, tmp_path):
    move, drive = a_move([a_vif()], attempt=3), tmp_path / "drive.iso"
    drive.write_bytes(b"who I am".ljust(2048 * 20, b"\0"))
    move.spawn(config_drive=drive)
    move.run(with_image=with_image)
    move.finish()
    assert move.where() == (Presence.ABSENT, Presence.HERE)
    assert not move.source.exists(move.uuid)
    guest = move.destination.describe(move.uuid)
    assert (guest.power_state, guest.attempt, guest.memory_mb) == (RUNNING, 3, MEMORY_MB)
    assert guest.announced
    drives = [
        *move.hosts.folder.rglob(f"*{move.uuid}*.iso"),
        *move.hosts.folder.rglob("*drive.iso"),
    ]
    assert [one.read_bytes() == drive.read_bytes() for one in {*drives}] == [True]


def test_a_guest_that_has_gone_is_at_home_there(spawned):
    spawned.run(with_image=False)
    spawned.finish()
    spawned.destination.reboot(spawned.uuid, hard=True)
    assert spawned.where() == (Presence.ABSENT, Presence.HERE)
    image = spawned.image_path.read_bytes()
    if spawned.image_path.suffix != ".qcow2":
        with spawned.destination.snapshot(spawned.uuid, disk_format="raw") as disk:
            assert disk.read(len(image)) == image


def test_what_has_gone_may_be_moved_and_finished_again(spawned):
    incoming = spawned.prepare()
    for _ in range(2):
        spawned.source.departures().move(spawned.uuid, incoming)
    for _ in range(2):
        spawned.finish()
    assert spawned.where() == (Presence.ABSENT, Presence.HERE)
    with pytest.raises(exception.NotFound):
        spawned.source.departures().move(spawned.uuid, incoming)


def test_whoever_asks_on_the_way_learns_where_a_guest_is(spawned):
    def copied():
        found = spawned.source.departures().progress(spawned.uuid)
        assert found.memory_total or found.disk_total
        return found.memory_processed + found.disk_processed

    seen = []
    with spawned.under_way() as moving:
        first = copied()
        assert spawned.outcome() is MigrationOutcome.WAIT
        wait_until(lambda: copied() > first, "more is copied", timeout=SOON)
    while not moving.done():
        seen.append(spawned.outcome())
        time.sleep(LOOK)
    moving.result()
    assert {*seen} <= {MigrationOutcome.STAYED, MigrationOutcome.WAIT, MigrationOutcome.ARRIVED}
    assert spawned.outcome() is MigrationOutcome.ARRIVED
    assert spawned.source.departures().progress(spawned.uuid) is None


def test_a_move_that_is_aborted_leaves_the_guest_where_it_was(no_end, spawned):
    with spawned.under_way() as moving:
        assert spawned.where()[0] in (Presence.LEAVING, Presence.HERE)
        spawned.source.departures().abort(spawned.uuid)
        with pytest.raises(exception.Conflict, match="aborted"):
            moving.result(SOON)
    assert_stayed(spawned)


def test_a_move_whose_destination_dies_leaves_the_guest_where_it_was(no_end, spawned):
    with spawned.under_way() as moving, spawned.hosts.dies():
        assert moving.exception(SOON) is not None
    assert_stayed(spawned)


def assert_stayed(move, *, and_goes=True):
    """Put back what was to be moved, and move it after all."""
    wait_until(lambda: move.outcome() is MigrationOutcome.STAYED, "it has stayed", timeout=SOON)
    for _ in range(2):
        move.destination.arrivals().cancel(move.uuid)
        move.source.departures().stay(move.uuid)
    assert move.where() == (Presence.HERE, Presence.ABSENT)
    assert move.source.describe(move.uuid).power_state == RUNNING
    assert not move.destination.exists(move.uuid)
    if and_goes:
        move.source = move.hosts.source()
        move.run()
        assert move.outcome() is MigrationOutcome.ARRIVED


def test_a_guest_goes_once_at_a_time_and_nobody_takes_it_for_gone(no_end, spawned):
    with spawned.under_way() as moving:
        incoming = None
        for step in (
            lambda: spawned.source.departures().describe(spawned.uuid),
            lambda: spawned.source.departures().move(spawned.uuid, incoming),
            lambda: spawned.source.departures().finish(spawned.uuid),
            lambda: spawned.destination.arrivals().finish(spawned.instance, b""),
        ):
            with pytest.raises(exception.Conflict):
                step()
        spawned.source.departures().abort(spawned.uuid)
        with pytest.raises(exception.Conflict, match="aborted"):
            moving.result(SOON)
    assert_stayed(spawned, and_goes=False)


def test_a_guest_in_post_copy_arrives_at_once(spawned):
    with spawned.under_way() as moving:
        wait_until(lambda: switched(spawned, moving), "it is in post-copy", timeout=SOON)
        moving.result(SOON)
    spawned.finish()
    assert spawned.where() == (Presence.ABSENT, Presence.HERE)
    assert spawned.destination.describe(spawned.uuid).power_state == RUNNING


def switched(move, moving):
    """Switch once its memory is being copied; disks go first."""
    try:
        move.source.departures().switch_to_post_copy(move.uuid)
    except exception.RoostError:
        return moving.done()
    return True


def test_a_paused_guest_goes_and_stays_paused(spawned):
    spawned.source.pause(spawned.uuid)
    spawned.run()
    spawned.finish()
    assert spawned.where() == (Presence.ABSENT, Presence.HERE)
    assert spawned.destination.describe(spawned.uuid).power_state == HELD


def test_a_stopped_guest_does_not_go(spawned):
    spawned.source.power_off(spawned.uuid)
    with pytest.raises(exception.Conflict):
        spawned.source.departures().describe(spawned.uuid)
    assert spawned.where() == (Presence.STOPPED, Presence.ABSENT)


def test_a_host_takes_no_guest_that_it_has(spawned):
    outgoing = spawned.source.departures().describe(spawned.uuid)
    with pytest.raises(exception.Conflict):
        spawned.source.arrivals().check(outgoing)
    with pytest.raises(exception.Conflict):
        spawned.source.arrivals().cancel(spawned.uuid)
    with pytest.raises(exception.Conflict):
        spawned.source.departures().finish(spawned.uuid)
    with pytest.raises(exception.Conflict):
        spawned.destination.arrivals().finish(spawned.instance, b"")
    assert spawned.where() == (Presence.HERE, Presence.ABSENT)


def test_who_was_to_come_and_did_not_leaves_nothing(spawned):
    for _ in range(2):
        spawned.prepare()
    assert spawned.where() == (Presence.HERE, Presence.ROOM)
    spawned.destination.arrivals().cancel(spawned.uuid)
    assert spawned.where() == (Presence.HERE, Presence.ABSENT)
    assert spawned.uuid not in spawned.destination.list_guests()


def test_of_no_guest_nothing_is_moved(hosts):
    departures = hosts.source().departures()
    for step in (departures.describe, departures.stay, departures.abort):
        with pytest.raises(exception.NotFound):
            step(a_uuid())
    assert departures.progress(a_uuid()) is None
    assert departures.finish(a_uuid()) == b""
