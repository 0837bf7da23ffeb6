"""Worlds for the stories of service groups: daemons that speak, and time that passes."""

import datetime
import os
import shutil

import redis
import sqlalchemy as sa

from roost.db.cell import models, services
from roost.servicegroup.db import DatabaseGroup
from roost.servicegroup.tooz import MEMORY, ToozGroup
from tests.builders import CELL1, CELL2, NOW, a_service
from tests.stories.service_groups import DOWN_TIME

COMPUTE = "roost-compute"


class FakeGroup:
    """Knows who is up because a test says so."""

    def __init__(self, *up):
        self.up = set(up)
        self.beats = []
        self.closed = False

    def beat(self, cell_uuid):
        self.beats.append(cell_uuid)

    def find_up(self, services, *, cell_uuid, now):
        return {each.uuid for each in services if each.host in self.up and not each.forced_down}

    def close(self):
        self.closed = True


class DatabaseWorld:
    """Two cells' databases, into which heartbeats go."""

    def __init__(self, *databases):
        self._databases = dict(zip((CELL1, CELL2), databases, strict=True))
        self._group = DatabaseGroup(down_time=DOWN_TIME)

    def speak(self, host, *, binary=COMPUTE, cell=CELL1):
        self._group.beat(cell)
        with self._databases[cell].begin() as session:
            services.report(session, host=host, binary=binary)

    def restart(self, host):
        self._group = DatabaseGroup(down_time=DOWN_TIME)

    def force_down(self, host, *, forced=True):
        with self._databases[CELL1].begin() as session:
            (service,) = services.list_services(session, hosts=[host])
            services.update(session, service.uuid, forced_down=forced)

    def later(self, seconds):
        for database in self._databases.values():
            with database.begin() as session:
                age(session, seconds)

    def up(self, *, binary=COMPUTE, cell=CELL1):
        with self._databases[cell].read() as session:
            roll = services.call_roll(session, binary=binary)
        found = self._group.find_up(roll.services, cell_uuid=cell, now=roll.now)
        return {each.host for each in roll.services if each.uuid in found}


def force_down(database, host):
    """Have an operator declare that a host is down, whose daemon goes on."""
    with database.begin() as session:
        itself = services.report(session, host=host, binary=COMPUTE)
        services.update(session, itself.uuid, forced_down=True)


def age(session, seconds, host=None):
    """Let the heartbeats (of one host) be so much older."""
    past = datetime.timedelta(seconds=seconds)
    for service in services.list_services(session, hosts=None if host is None else [host]):
        session.execute(
            sa.update(models.services)
            .where(models.services.c.uuid == service.uuid)
            .values(last_seen_up=service.last_seen_up - past)
        )


class ToozWorld:
    """Daemons in groups at a URL. Heartbeats are old, unless a question names those heard of.

    Between two questions a moment passes, so that no answer is an old one.
    """

    def __init__(self, url):
        self._url = url
        self._daemons = {}
        self._forced = set()
        self._spoke = {}
        self.seconds = 0.0
        self._looker = self._group("roost-api:a1")

    def daemon(self, host, *, binary=COMPUTE, cell=CELL1):
        if (binary, host, cell) not in self._daemons:
            self._daemons[binary, host, cell] = self._group(f"{binary}:{host}")
        return self._daemons[binary, host, cell]

    def speak(self, host, *, binary=COMPUTE, cell=CELL1):
        self._spoke.setdefault((binary, cell), set()).add(host)
        self.daemon(host, binary=binary, cell=cell).beat(cell)

    def restart(self, host):
        self._daemons.pop((COMPUTE, host, CELL1))

    def end(self, host):
        self.daemon(host).close()

    def disband(self):
        self._looker.disband(CELL1)

    def force_down(self, host, *, forced=True):
        (self._forced.add if forced else self._forced.discard)(host)

    def up(self, *, binary=COMPUTE, cell=CELL1, by=None, among=(), heard=()):
        known = [
            a_service(
                host,
                binary=binary,
                forced_down=host in self._forced,
                last_seen_up=NOW if host in heard else NOW - datetime.timedelta(days=1),
            )
            for host in {*self._spoke.get((binary, cell), ()), *among}
        ]
        self.seconds += MEMORY
        found = (by or self._looker).find_up(known, cell_uuid=cell, now=NOW)
        return {service.host for service in known if service.uuid in found}

    def close(self):
        for daemon in (*self._daemons.values(), self._looker):
            daemon.close()

    def _group(self, member):
        return ToozGroup(self._url, member=member, down_time=DOWN_TIME, clock=lambda: self.seconds)


class FileWorld(ToozWorld):
    """Groups in files."""

    def __init__(self, folder):
        self._folder = folder
        super().__init__(f"file://{folder}")

    @property
    def nowhere(self):
        return f"file://{__file__}/below"

    def later(self, seconds):
        for path in self._folder.glob("groups/*/*.raw"):
            then = path.stat().st_mtime - seconds
            os.utime(path, (then, then))

    def traces(self):
        return list(self._folder.glob("groups/*"))

    def forget(self):
        shutil.rmtree(self._folder / "groups")
        (self._folder / "groups").mkdir()


class RedisWorld(ToozWorld):
    """Groups in a Redis that others may use, too: only keys of its cells are touched."""

    nowhere = "redis://127.0.0.1:1"

    def __init__(self, url):
        self._redis = redis.Redis.from_url(url)
        super().__init__(url)

    def later(self, seconds):
        for key in self._keys("_tooz_beats:*"):
            left = self._redis.pttl(key) - int(seconds * 1000)
            if left > 0:
                self._redis.pexpire(key, left)
            else:
                self._redis.delete(key)

    def traces(self):
        return self._keys("_tooz_group:*")

    def forget(self):
        keys = [*self._keys("_tooz_beats:*"), *self._keys("_tooz_group:*")]
        if keys:
            self._redis.delete(*keys)

    def close(self):
        super().close()
        self.forget()
        self._redis.srem("_tooz_groups", *(f"roost-{cell}" for cell in (CELL1, CELL2)))
        self._redis.close()

    def _keys(self, pattern):
        return [
            key for key in self._redis.scan_iter(pattern) if key.decode().endswith((CELL1, CELL2))
        ]
