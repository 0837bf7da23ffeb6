"""Boot servers through the REST API, and watch them until each is ACTIVE or in ERROR."""

import collections
import dataclasses
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent import futures
from typing import Any

from roost import exception
from roost.rig.client import DONE, Client

AT_ONCE = 8  # requests in flight
GONE = "gone"


@dataclasses.dataclass(frozen=True)
class BootRequest:
    """What to boot: names or ids as the API takes them."""

    flavor: str
    image: str
    networks: str = "auto"
    prefix: str = "rig"

    def body(self, name: str) -> dict[str, Any]:
        networks: Any = self.networks
        if networks not in ("auto", "none"):
            networks = [{"uuid": network} for network in networks.split(",")]
        return {
            "server": {
                "name": name,
                "flavorRef": self.flavor,
                "imageRef": self.image,
                "networks": networks,
            }
        }


@dataclasses.dataclass
class WatchedServer:
    """A server under watch. Times are those of ``time.monotonic``, in seconds."""

    id: str
    name: str
    asked: float
    accepted: float
    state: str = "BUILD"
    host: str = ""
    done: float | None = None
    fault: str = ""

    @property
    def seconds(self) -> float | None:
        """How long it took from the request to its last state, None while it is on its way."""
        return None if self.done is None else self.done - self.asked


Progress = Callable[[Sequence[WatchedServer]], None]


def choose(items: Iterable[dict[str, Any]], wanted: str | None, kind: str) -> str:
    """Return the id of the flavor or image that is named (the first, when none is).

    :raises roost.exception.NotFound: with the names that there are
    """
    known = list(items)
    for item in known:
        if wanted is None or wanted in (item["id"], item["name"]):
            return str(item["id"])
    names = ", ".join(item["name"] for item in known) or "none"
    raise exception.NotFound(f"no {kind} {wanted or ''}; there are: {names}")


def boot(
    client: Client,
    request: BootRequest,
    *,
    count: int,
    timeout: float,
    per_request: int = 1,
    show: Progress = lambda _servers: None,
) -> list[WatchedServer]:
    """Boot ``count`` servers and return them when all are done, or after ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    servers: list[WatchedServer] = []
    sizes = [min(per_request, count - begun) for begun in range(0, count, per_request)]
    with futures.ThreadPoolExecutor(AT_ONCE) as pool:
        asked = [
            pool.submit(
                _create,
                client,
                request,
                name=f"{request.prefix}-{number:02}",
                count=size,
            )
            for number, size in enumerate(sizes, 1)
        ]
        for booted in futures.as_completed(asked):
            servers += booted.result()
            refresh(client, servers)
            show(servers)
    watch(client, servers, timeout=deadline - time.monotonic(), show=show)
    return sorted(servers, key=lambda server: server.name)


def watch(
    client: Client, servers: Sequence[WatchedServer], *, timeout: float, show: Progress
) -> Sequence[WatchedServer]:
    """Look at the servers until all are done, or for ``timeout`` seconds."""
    deadline = time.monotonic() + timeout
    while any(server.done is None for server in servers) and time.monotonic() < deadline:
        began = time.monotonic()
        refresh(client, servers)
        show(servers)
        time.sleep(min(2.0, max(0.1, 4 * (time.monotonic() - began))))
    return servers


def refresh(client: Client, servers: Sequence[WatchedServer]) -> None:
    """Take in the states that the API tells."""
    if all(server.done is not None for server in servers):
        return
    found = {seen["id"]: seen for seen in client.servers()}
    now = time.monotonic()
    for server in servers:
        if server.done is not None:
            continue
        seen = found.get(server.id, {"status": GONE})
        server.state = seen["status"]
        server.host = seen.get("OS-EXT-SRV-ATTR:host") or ""
        server.fault = seen.get("fault", {}).get("message", "")
        if server.state in (*DONE, GONE):
            server.done = now


def delete_all(client: Client, *, timeout: float, show: Callable[[int], None]) -> int:
    """Delete every server and wait until none is left; return how many still are."""
    left = [server["id"] for server in client.servers()]
    with futures.ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(client.delete_server, left))
    deadline = time.monotonic() + timeout
    while left:
        left = [server["id"] for server in client.servers()]
        show(len(left))
        if time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return len(left)


def states(servers: Iterable[WatchedServer]) -> dict[str, int]:
    """Count servers by state."""
    return dict(collections.Counter(server.state for server in servers))


def spread(servers: Iterable[WatchedServer]) -> dict[str, int]:
    """Count servers by host, in order of name."""
    return dict(sorted(collections.Counter(s.host for s in servers if s.host).items()))


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value that ``percent`` of the values do not pass (0 when there are none)."""
    if not values:
        return 0.0
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


def _create(client: Client, request: BootRequest, *, name: str, count: int) -> list[WatchedServer]:
    asked = time.monotonic()
    ids = client.create_servers(request.body(name), count=count)
    accepted = time.monotonic()
    names = [name] if count == 1 else [f"{name}-{number}" for number in range(1, count + 1)]
    return [
        WatchedServer(id=server_id, name=own, asked=asked, accepted=accepted)
        for server_id, own in zip(ids, names, strict=False)
    ]
