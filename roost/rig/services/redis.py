"""Redis, found or started: where groups of living daemons may be kept."""

import os
import pathlib
import socket
import urllib.parse
from typing import ClassVar, Self

from roost import exception
from roost.rig.services.private import (
    LOOPBACK,
    Private,
    PrivateService,
    ServiceAddress,
    free_port,
    program,
)

_VARIABLE = "ROOST_TEST_REDIS"
_SECONDS = 5  # for it to answer
_SETTINGS = ["--bind", LOOPBACK, "--save", "", "--appendonly", "no", "--daemonize", "no"]


class Redis(PrivateService):
    """A Redis server. Whoever uses it takes names that nobody else has."""

    kind: ClassVar[str] = "redis"
    usual: ClassVar[ServiceAddress] = ServiceAddress(LOOPBACK, 6379, "")

    @classmethod
    def find(cls) -> Self:
        """Return the server at its usual place.

        :raises roost.exception.Unavailable: when nobody is there, or does not let us in
        """
        url = os.environ.get(_VARIABLE)
        found = cls(_address(url, said=_VARIABLE) if url else cls.usual)
        found.check()
        return found

    @classmethod
    def at(cls, url: str) -> Self:
        """Return the server that a URL names; without a port it is the usual one.

        :raises roost.exception.Invalid: when the URL names no host
        :raises roost.exception.Unavailable: when it does not let us in
        """
        found = cls(_address(url, said="the URL of Redis"))
        found.check()
        return found

    @classmethod
    def start(cls, state_dir: pathlib.Path) -> Self:
        """Start a private server, or take up the one that was started from ``state_dir``."""
        server = program("redis-server", package="redis-server")
        private = Private(cls.kind, state_dir, account="redis")
        if not private.running():
            folder = private.make_folder(port=free_port())
            own = ["--port", str(private.details["port"]), "--dir", str(folder)]
            private.spawn([server, *own, *_SETTINGS])
        found = cls(ServiceAddress(LOOPBACK, private.details["port"], ""), private)
        private.wait_until(found.check, seconds=30)
        return found

    def url(self, database: str = "") -> str:
        """Return the URL of a database, which is a number; none is the first."""
        address = self.address
        user, password = (urllib.parse.quote(x, safe="") for x in (address.user, address.password))
        login = f"{user}:{password}@" if password else ""
        path = f"/{database}" if database else ""
        return f"redis://{login}{address.host}:{address.port}{path}"

    def check(self) -> None:
        """Make sure that the server lets us in.

        :raises roost.exception.Unavailable: when it does not
        """
        where = f"{self.address.host}:{self.address.port}"
        try:
            said = self._say("PING")
        except OSError as error:
            raise exception.Unavailable(f"Redis on {where} does not let us in: {error}") from error
        if said != "+PONG":
            raise exception.Unavailable(f"Redis on {where} does not let us in: {said}")

    def _say(self, word: str) -> str:
        """Send a word, after the password if there is one, and return the last line answered.

        So much of the protocol is plain text; Roost itself needs no client of Redis.
        """
        address = self.address
        login = f"AUTH {address.user or 'default'} {address.password}"
        words = [login, word] if address.password else [word]
        place = (address.host, address.port)
        with socket.create_connection(place, timeout=_SECONDS) as connection:
            lines = connection.makefile("r", encoding="utf-8", newline="\r\n")
            for each in words:
                connection.sendall(f"{each}\r\n".encode())
                answer = lines.readline().strip()
            lines.close()
        return answer


def _address(url: str, *, said: str) -> ServiceAddress:
    try:
        parts = urllib.parse.urlsplit(url)
        port = parts.port or Redis.usual.port
    except ValueError as error:
        raise exception.Invalid(f"{said}: {error}") from error
    if not parts.hostname:
        raise exception.Invalid(f"{said} must be like redis://:password@host:6379")
    user, password = (urllib.parse.unquote(x or "") for x in (parts.username, parts.password))
    return ServiceAddress(parts.hostname, port, user, password)
