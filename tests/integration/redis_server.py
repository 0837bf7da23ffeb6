"""A Redis server, found or started: where groups of living daemons may be kept."""

import os
import urllib.parse

import redis

from roost import exception
from roost.rig.services.private import (
    LOOPBACK,
    Private,
    PrivateService,
    ServiceAddress,
    free_port,
    program,
)

_SETTINGS = ["--bind", LOOPBACK, "--save", "", "--appendonly", "no", "--daemonize", "no"]


class RedisServer(PrivateService):
    """A Redis server. Whoever uses it takes names that nobody else has."""

    kind = "redis"

    @classmethod
    def find(cls):
        """Return the server that ``ROOST_TEST_REDIS`` names, or that at the usual port."""
        parts = urllib.parse.urlsplit(os.environ.get("ROOST_TEST_REDIS", f"redis://{LOOPBACK}"))
        user, password = (urllib.parse.unquote(x or "") for x in (parts.username, parts.password))
        found = cls(ServiceAddress(parts.hostname, parts.port or 6379, user, password))
        found.check()
        return found

    @classmethod
    def start(cls, state_dir):
        server = program("redis-server", package="redis-server")
        private = Private(cls.kind, state_dir, account="redis")
        if not private.running():
            folder = private.make_folder(port=free_port())
            own = ["--port", str(private.details["port"]), "--dir", str(folder)]
            private.spawn([server, *own, *_SETTINGS])
        found = cls(ServiceAddress(LOOPBACK, private.details["port"], ""), private)
        private.wait_until(found.check, seconds=30)
        return found

    def url(self):
        address = self.address
        user, password = (urllib.parse.quote(x, safe="") for x in (address.user, address.password))
        login = f"{user}:{password}@" if password else ""
        return f"redis://{login}{address.host}:{address.port}"

    def check(self):
        try:
            with redis.Redis.from_url(self.url(), socket_timeout=5) as client:
                client.ping()
        except redis.RedisError as error:
            where = f"{self.address.host}:{self.address.port}"
            raise exception.Unavailable(f"Redis on {where} does not let us in: {error}") from error
