"""The compute API, as the rig uses it: over HTTP, like everybody else."""

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from typing import Any

import requests

from roost import exception
from roost.rig.openstack.contents import admin_session
from roost.rig.openstack.identity import token_of
from roost.rig.plan import Plan

MICROVERSION = "2.90"
DONE = ("ACTIVE", "ERROR", "DELETED")


@dataclasses.dataclass(frozen=True)
class Event:
    """One step of a server's boot, as ``os-instance-actions`` tells it."""

    name: str
    host: str
    start: datetime.datetime
    finish: datetime.datetime | None
    result: str
    details: str

    @property
    def who(self) -> str:
        """The kind of daemon that did it."""
        return self.name.partition(".")[0]

    @property
    def step(self) -> str:
        return self.name.partition(".")[2] or self.name

    @property
    def failed(self) -> bool:
        return self.result == "Error"


class Client:
    """A compute endpoint.

    :param token: returns a token of who asks; None: without authentication
    :param images: the address of the API of images; None: what Roost serves in its place
    :raises roost.exception.Unavailable: from every method, when nobody answers; its details say
        ``late`` when somebody might have
    :raises roost.exception.Unauthenticated: from every method, when the answer is that nobody knows
        who we are
    :raises roost.exception.Conflict: from every method, when the answer is an error; its details
        have the ``status`` and what the answer says of ``retry_after``
    """

    def __init__(
        self,
        endpoint: str,
        *,
        timeout: float = 30,
        token: Callable[[], str | None] | None = None,
        images: str | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._root = endpoint.removesuffix("/v2.1")
        self._images = images or f"{self._root}/image"
        self._timeout = timeout
        self._token = token
        self._session = requests.Session()
        self._session.trust_env = False  # a proxy is never between us and this machine
        self._session.headers["OpenStack-API-Version"] = f"compute {MICROVERSION}"
        self._session.mount("http://", requests.adapters.HTTPAdapter(pool_maxsize=32))

    def answers(self) -> bool:
        """Tell whether the API is there."""
        try:
            self._ask("GET", self._root + "/")
        except exception.RoostError:
            return False
        return True

    def services(self) -> list[dict[str, Any]]:
        return list(self.get("/os-services")["services"])

    def flavors(self) -> list[dict[str, Any]]:
        return list(self.get("/flavors/detail")["flavors"])

    def images(self) -> list[dict[str, Any]]:
        return list(self._ask("GET", f"{self._images}/v2/images").json()["images"])

    def create_servers(self, body: dict[str, Any], *, count: int = 1) -> list[str]:
        """Ask for ``count`` servers in one request and return their ids."""
        if count == 1:
            return [self._ask("POST", self.endpoint + "/servers", body).json()["server"]["id"]]
        asked = {**body["server"], "min_count": count, "return_reservation_id": True}
        answer = self._ask("POST", self.endpoint + "/servers", {"server": asked}).json()
        found = self.servers(reservation_id=answer["reservation_id"])
        return [server["id"] for server in found]

    def servers(self, **query: str) -> Iterator[dict[str, Any]]:
        """Return all servers in detail, page by page."""
        marker: dict[str, str] = {}
        while True:
            answer = self.get("/servers/detail", limit="1000", **query, **marker)
            yield from answer["servers"]
            if not answer.get("servers_links"):
                return
            marker = {"marker": answer["servers"][-1]["id"]}

    def server(self, server_id: str) -> dict[str, Any]:
        return dict(self.get(f"/servers/{server_id}")["server"])

    def delete_server(self, server_id: str) -> None:
        """Delete a server; one that is gone already is no error."""
        try:
            self._ask("DELETE", f"{self.endpoint}/servers/{server_id}")
        except exception.NotFound:
            return

    def boot_events(self, server_id: str) -> list[Event]:
        """Return the steps of a server's create action, in order of their start."""
        actions = self.get(f"/servers/{server_id}/os-instance-actions")["instanceActions"]
        creates = [action for action in actions if action["action"] == "create"]
        if not creates:
            return []
        path = f"/servers/{server_id}/os-instance-actions/{creates[-1]['request_id']}"
        events = self.get(path)["instanceAction"]["events"]
        return sorted((_event(event) for event in events), key=lambda event: event.start)

    def get(self, path: str, **query: str) -> dict[str, Any]:
        answer = self._ask("GET", self.endpoint + path, query=query)
        return dict(answer.json())

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return dict(self._ask("POST", self.endpoint + path, body).json())

    def put(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return dict(self._ask("PUT", self.endpoint + path, body).json())

    def act(self, server_id: str, action: dict[str, Any]) -> None:
        """Ask for an action on a server."""
        self._ask("POST", f"{self.endpoint}/servers/{server_id}/action", action)

    def delete(self, path: str) -> None:
        self._ask("DELETE", self.endpoint + path)

    def _who(self) -> dict[str, str]:
        token = self._token() if self._token else None
        return {"X-Auth-Token": token} if token else {}

    def _ask(
        self,
        method: str,
        url: str,
        body: dict[str, Any] | None = None,
        *,
        query: dict[str, str] | None = None,
    ) -> requests.Response:
        try:
            answer = self._session.request(
                method, url, json=body, params=query, headers=self._who(), timeout=self._timeout
            )
        except requests.RequestException as error:
            late = isinstance(error, requests.Timeout)
            raise exception.Unavailable(f"{url} does not answer: {error}", late=late) from error
        if answer.status_code == requests.codes.not_found:
            raise exception.NotFound(f"{method} {url}: {answer.text}")
        if answer.status_code == requests.codes.unauthorized:
            raise exception.Unauthenticated(
                f"{url} wants a token of a Keystone that is not the rig's: ask it as somebody of"
                " that Keystone, with clients of OpenStack"
            )
        if not answer.ok:
            raise exception.Conflict(
                f"{method} {url} -> {answer.status_code}: {answer.text}",
                status=answer.status_code,
                retry_after=answer.headers.get("Retry-After"),
            )
        return answer


def client_of(plan: Plan, *, timeout: float = 30) -> Client:
    """Return what asks the API of a rig, as its administrator where it has a Keystone."""
    if not plan.openstack:
        return Client(plan.endpoint, timeout=timeout)
    admin = admin_session(plan.openstack)
    images = plan.openstack.endpoints(plan.endpoint)["image"]
    return Client(plan.endpoint, timeout=timeout, token=lambda: token_of(admin), images=images)


def _event(values: dict[str, Any]) -> Event:
    finish = values.get("finish_time")
    return Event(
        name=values["event"],
        host=values.get("host") or "",
        start=moment(values["start_time"]),
        finish=moment(finish) if finish else None,
        result=values.get("result") or "",
        details=values.get("details") or values.get("traceback") or "",
    )


def moment(text: str) -> datetime.datetime:
    """Read a time as the API writes it."""
    found = datetime.datetime.fromisoformat(text)
    return found if found.tzinfo else found.replace(tzinfo=datetime.UTC)
