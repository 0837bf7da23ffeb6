"""A database is put back as it was, and the procedure of doc/restore.rst is followed by commands.

Whoever runs these stories has a ``cloud``, ``manage`` (which runs roost-manage with its words, and
fails unless it exits with ``code``) and ``copies`` (which backs databases up and puts them back).
What users delete for good there, they delete by force: everything else is kept for an hour.
"""

import contextlib
import datetime
import json

import pytest
import requests
import sqlalchemy as sa

from roost.db.api import models as api_models
from roost.db.cell import models as cell_models
from roost.db.engine import Database
from tests.stories.cloud import wait_until
from tests.stories.guests import guest_file

KEPT_FOR = 3600
SOON = {
    "DEFAULT": {
        "rpc_response_timeout": 10,  # a conductor that is killed takes calls with it
        "service_report_interval": 1.0,
    },
    "conductor": {
        "sweep_interval": 0.5,
        "task_lease_seconds": 3.0,
        "reclaim_instance_interval": KEPT_FOR,
    },
    "compute": {"reconcile_interval": 1.0},
}
MAPPINGS = api_models.instance_mappings
SERVICES = cell_models.services
ALL_BUT_HOSTS = ("cell1-conductor", "scheduler", "super-conductor", "api")


class Site:
    """A deployment, its users and its operator."""

    def __init__(self, cloud, manage, copies):
        self.cloud, self.manage, self.copies = cloud, manage, copies

    def boot(self, name):
        (uuid,) = self.cloud.boot(name)
        self.cloud.wait([uuid], "ACTIVE")
        return uuid

    def act(self, uuid, word, how=None):
        """Do what a user does to a server."""
        answer = requests.post(
            f"{self.cloud.client.endpoint}/servers/{uuid}/action", json={word: how}, timeout=30
        )
        answer.raise_for_status()

    def rename(self, uuid, name):
        path = f"{self.cloud.client.endpoint}/servers/{uuid}"
        requests.put(path, json={"server": {"name": name}}, timeout=30).raise_for_status()

    def end(self, uuid):
        """Delete a server for good."""
        self.act(uuid, "forceDelete")
        self.cloud.wait_gone([uuid])
        wait_until(lambda: uuid not in self.cloud.claims(), f"the end of the claim of {uuid}")

    def put_away(self, uuid):
        self.cloud.client.delete_server(uuid)
        self.becomes(uuid, "SOFT_DELETED")

    def restore(self, uuid):
        self.act(uuid, "restore")
        self.becomes(uuid, "ACTIVE")

    def becomes(self, uuid, status):
        wait_until(lambda: self.cloud.show(uuid)["status"] == status, f"{status} of {uuid}")

    def another_image(self):
        file = str(self.cloud.plan.config_file("manage"))
        return json.loads(self.manage("image", "add", "another", file, "--json"))["id"]

    def rebuild(self, uuid):
        """Rebuild a server from another image, and return that."""
        image = self.another_image()
        self.act(uuid, "rebuild", {"imageRef": image})
        self.is_rebuilt(uuid, image)
        return image

    def is_rebuilt(self, uuid, image):
        wait_until(
            lambda: (
                (found := self.cloud.show(uuid))["status"] == "ACTIVE"
                and found["image"]["id"] == image
            ),
            f"the rebuild of {uuid}",
        )

    def guest(self, uuid):
        """Return the file of the only guest of a server."""
        (host,) = self.guests()[uuid]
        return guest_file(self.cloud, host, uuid)

    def guests(self):
        """Return where guests are: each host once for each that it has."""
        found = {}
        for host in self.cloud.plan.all_hosts:
            for file in guest_file(self.cloud, host, "x").parent.glob("*.json"):
                found.setdefault(file.stem, []).append(host)
        return found

    def listed(self):
        """Return the names of servers, as their owners see them in lists."""
        return sorted(server["name"] for server in self.cloud.client.servers())

    def write(self, whose, statement):
        database = Database(self.cloud.plan.database_url(whose), connections=1)
        with contextlib.closing(database), database.begin() as session:
            session.execute(statement)

    @contextlib.contextmanager
    def reading(self, whose):
        database = Database(self.cloud.plan.database_url(whose), connections=1)
        with contextlib.closing(database), database.read() as session:
            yield session

    def mapped(self):
        """Return which servers the API level knows."""
        with self.reading("api") as session:
            return {*session.scalars(sa.select(MAPPINGS.c.instance_uuid))}

    def end_guest(self, uuid):
        """End the guest of a server whose row is lost, as an operator does."""
        (host,) = self.guests()[uuid]
        guest_file(self.cloud, host, uuid).unlink()
        self.cloud.rig.kill(host)
        self.cloud.rig.start_daemon(host)
        wait_until(lambda: uuid not in self.cloud.claims(), f"the end of the claim of {uuid}")

    def audit(self, left=None):
        """Have all repaired, as often as the procedure says, until nothing else is left."""
        wait_until(lambda: not self.cloud.audit_unchecked(), "all hosts answer")
        told = []

        def clean():
            told.append(self.manage("audit", "--repair", "--settle", "1", "--json", code=None))
            counts = json.loads(told[-1])["counts"].items()
            return {kind: count for kind, count in counts if count} == (left or {})

        wait_until(clean, told, timeout=90)

    def is_whole(self, *living):
        """Make sure that these have one guest each and nobody else has, and a new one is booted."""
        assert {uuid: len(hosts) for uuid, hosts in self.guests().items()} == dict.fromkeys(
            living, 1
        )
        assert {*self.cloud.claims()} == {*living}
        new = self.boot("at last")
        for uuid in (new, *living):
            self.end(uuid)
        assert self.guests() == {}
        assert self.cloud.audit() == {}


@pytest.fixture
def site(cloud, manage, copies):
    made = Site(cloud, manage, copies)
    yield made
    for uuid in made.guests():
        made.end(uuid)


def long_ago():
    return datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=2 * KEPT_FOR)


def test_an_api_database_that_is_put_back_costs_nobody_a_server(site):
    cloud = site.cloud
    kept, gone, back, away = (site.boot(name) for name in ("kept", "gone", "back", "away"))
    site.put_away(back)
    cloud.rig.kill("super-conductor")
    (late,) = cloud.boot("late")
    with site.copies.of("api"):
        cloud.rig.start_daemon("super-conductor")
        cloud.wait([late], "ACTIVE")
        new = site.boot("new")
        site.end(gone)
        site.restore(back)
        site.put_away(away)
        site.rename(kept, "renamed")
        site.act(kept, "lock")
        homes = site.guests()
        cloud.rig.kill("api")
        cloud.rig.kill("super-conductor")
    old = sa.update(MAPPINGS).where(MAPPINGS.c.put_away_at.is_not(None))
    site.write("api", old.values(put_away_at=long_ago()))
    site.manage("db", "sync", "api", file="owner")
    cloud.rig.start_daemon("super-conductor")
    site.manage("cell", "discover-hosts")
    site.audit()
    cloud.rig.start_daemon("api")
    wait_until(cloud.client.answers, "the API")
    site.becomes(away, "ACTIVE")
    assert site.guests() == homes
    assert site.listed() == ["away", "back", "late", "new", "renamed"]
    assert cloud.show(gone) is None
    assert {cloud.show(uuid)["status"] for uuid in (kept, late, new, back)} == {"ACTIVE"}
    assert cloud.show(kept)["locked"]
    site.put_away(away)
    site.restore(away)
    site.put_away(back)
    site.restore(back)
    site.is_whole(kept, late, new, back, away)


def test_the_schedulers_database_that_is_put_back_learns_all_from_the_hosts(site):
    cloud = site.cloud
    kept, gone, away = (site.boot(name) for name in ("kept", "gone", "away"))
    with site.copies.of("scheduler"):
        new, short = site.boot("new"), site.boot("short")
        site.end(gone)
        site.end(short)
        site.put_away(away)
        site.rename(kept, "renamed")
        homes = site.guests()
        cloud.rig.kill("scheduler")
    site.manage("db", "sync", "scheduler", file="owner")
    cloud.rig.start_daemon("scheduler")
    site.audit()
    assert site.guests() == homes
    assert site.listed() == ["new", "renamed"]
    assert {cloud.show(uuid)["status"] for uuid in (kept, new)} == {"ACTIVE"}
    site.is_whole(kept, new, away)


def test_a_cell_that_is_put_back_costs_nobody_a_guest(site):
    cloud = site.cloud
    kept, gone, away, rebuilt = (site.boot(name) for name in ("kept", "gone", "away", "rebuilt"))
    with site.copies.of("cell1"):
        new = site.boot("new")
        site.end(gone)
        site.put_away(away)
        site.rebuild(rebuilt)
        homes = site.guests()
        cloud.rig.stop_daemon("cell1-conductor")
    site.manage("db", "sync", "cell", "--cell", "cell1", file="owner")
    cloud.rig.start_daemon("cell1-conductor")
    site.audit(left={"guests without instance": 1, "mappings without instance": 1})
    assert site.guests() == homes
    assert site.listed() == ["away", "kept", "rebuilt"]
    assert {cloud.show(uuid)["status"] for uuid in (kept, rebuilt)} == {"ACTIVE"}
    assert cloud.show(away)["status"] == "SHUTOFF"
    cloud.client.delete_server(new)
    site.end_guest(new)
    site.audit()
    site.is_whole(kept, rebuilt, away)


def test_what_was_deleted_since_comes_back_with_cell0_and_ends_again(site):
    cloud = site.cloud
    values = {"flavorRef": cloud.create_flavor(vcpus=4000), "imageRef": cloud.image}
    kept, gone = (cloud.boot(name, **values)[0] for name in ("kept", "gone"))
    cloud.wait([kept, gone], "ERROR")
    with site.copies.of("cell0"):
        site.end(gone)
        wait_until(lambda: gone not in site.mapped(), "the mapping to be forgotten")
    site.audit()
    assert site.listed() == ["kept"]
    site.end(kept)


def test_databases_that_are_put_back_together_cost_nobody_a_guest(site):
    cloud = site.cloud
    kept, gone, fallen = (site.boot(name) for name in ("kept", "gone", "fallen"))
    with site.copies.of("cell1"):
        site.end(fallen)
        wait_until(lambda: fallen not in site.mapped(), "the mapping to be forgotten")
        with site.copies.of("api"), site.copies.of("scheduler"):
            new = site.boot("new")
            site.end(gone)
            homes = site.guests()
            for daemon in ALL_BUT_HOSTS:
                cloud.rig.kill(daemon)
    site.manage("db", "sync", "cell", "--cell", "cell1", file="owner")
    site.manage("db", "sync", "api", file="owner")
    site.manage("db", "sync", "scheduler", file="owner")
    for daemon in ALL_BUT_HOSTS[:-1]:
        cloud.rig.start_daemon(daemon)
    site.manage("cell", "discover-hosts")
    site.audit(left={"guests without instance": 1})
    cloud.rig.start_daemon("api")
    wait_until(cloud.client.answers, "the API")
    site.becomes(gone, "ERROR")
    assert cloud.show(fallen) is None
    assert site.guests() == homes
    assert site.listed() == ["gone", "kept"]
    assert cloud.show(kept)["status"] == "ACTIVE"
    site.end_guest(new)
    site.end(gone)
    site.is_whole(kept)
