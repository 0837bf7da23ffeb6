"""All ports of Neutron that say they are a server's, for audits; and how one is let go again."""

import dataclasses
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, Final

from roost import exception
from roost.outside.networking import Changed, Connect, named, told_apart
from roost.outside.ports import OWNER, Ports, mark

_PAGE: Final = 500
_SECONDS: Final = 1800.0
_FIELDS: Final = ("id", "device_id", "device_owner", "binding:profile", "revision_number")


@dataclasses.dataclass(frozen=True)
class ServerPort:
    """A port that says that it is a server's.

    ``made``: whether Roost made it, rather than took a port of its user's; None: nobody of us has
    marked it, so it may be any other service's.
    """

    id: str
    instance_uuid: str
    made: bool | None


class LeftoverPorts:
    """Looks at the ports of all servers, with our own right.

    :param connect: returns the network proxy of openstacksdk
    :param seconds: how long it may take to hear of all ports
    """

    def __init__(
        self,
        connect: Connect,
        *,
        seconds: float = _SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._ports = Ports(connect)
        self._seconds = seconds
        self._clock = clock

    def pages(self) -> Iterator[list[ServerPort]]:
        """Yield the ports of servers, some hundreds at a time: more are never in memory.

        :raises roost.exception.Unavailable: when Neutron does not answer; also half-way
        :raises roost.exception.Timeout: when it has not told all of them in time
        """
        until = self._clock() + self._seconds
        page: list[ServerPort] = []
        for port in self._all():
            page += _server_ports([port])
            if len(page) >= _PAGE:
                yield page
                page = []
            if self._clock() > until:
                raise exception.Timeout(f"Neutron has not told all in {self._seconds:g} s")
        yield page

    def look(self, port_ids: Collection[str]) -> list[ServerPort]:
        """Return those of these ports that there are, and are a server's.

        :raises roost.exception.Unavailable: when Neutron does not answer
        """
        with told_apart():
            network = self._connect()
        return _server_ports(named(network.ports, "id", port_ids))

    def let_go(self, port_id: str, *, instance_uuid: str) -> bool:
        """Delete a port that Roost made, unbind one that it took, unless it was changed meanwhile.

        :param instance_uuid: whose it still must be
        :returns: whether it was so
        :raises roost.exception.Unavailable: when Neutron does not answer
        """
        try:
            with told_apart():
                port = self._connect().get_port(port_id)
            marked = [one for one in _server_ports([port]) if one.made is not None]
            if [one.instance_uuid for one in marked] != [instance_uuid]:
                return False
            self._ports.release(port, if_revision=port.revision_number)
        except (exception.NotFound, Changed):
            return False
        return True

    def _all(self) -> Iterator[Any]:
        """Return all ports: of owners, Neutron compares whole names only, and theirs have zones."""
        with told_apart():
            ports = self._connect().ports(limit=_PAGE, fields=list(_FIELDS))
        while True:
            with told_apart():
                port = next(ports, None)
            if port is None:
                return
            yield port


def _server_ports(ports: Sequence[Any]) -> list[ServerPort]:
    return [
        ServerPort(id=port.id, instance_uuid=port.device_id, made=mark(port).get("made"))
        for port in ports
        if port.device_id and (port.device_owner or "").startswith(OWNER)
    ]
