"""Keystone as its administrator uses it: projects, users, roles, the catalog."""

import functools
from typing import Any

import requests
from keystoneauth1 import exceptions, session
from keystoneauth1.identity import v3

from roost import exception
from roost.rig.openstack.plan import ADMIN, REGION

_SECONDS = 30
_DOMAIN = "default"


def login(url: str, user: str, project: str | None, password: str, **scope: str) -> session.Session:
    """Return a session of somebody, for a project unless ``scope`` says otherwise.

    :param url: of Keystone
    """
    place: dict[str, Any] = dict(scope)
    if project:
        place = {"project_name": project, "project_domain_id": _DOMAIN}
    plugin = v3.Password(url, username=user, user_domain_id=_DOMAIN, password=password, **place)
    asking = requests.Session()
    asking.trust_env = False  # a proxy is never between us and this machine
    return session.Session(plugin, timeout=_SECONDS, session=asking)


class KeystoneAdmin:
    """A Keystone whose administrator we are.

    :raises roost.exception.Unavailable: from every method, when it refuses or does not answer
    """

    def __init__(self, url: str, password: str) -> None:
        self.url = url
        self.admin = login(url, ADMIN, ADMIN, password)
        self._ids: dict[str, str] = {}

    def service(self, kind: str, url: str, *, name: str = "") -> None:
        """Put a service into the catalog."""
        made = self._make("service", type=kind, name=name or kind)
        for interface in ("public", "internal"):
            self._make("endpoint", service_id=made, interface=interface, url=url, region_id=REGION)

    def region(self) -> None:
        """Make the region of all services."""
        self._make("region", id=REGION)

    def project(self, name: str) -> str:
        """Make a project, and return its id."""
        self._ids[name] = self._make("project", name=name, domain_id=_DOMAIN)
        return self._ids[name]

    def user(self, name: str, password: str, project: str, *roles: str) -> str:
        """Make somebody who has roles in a project, and return their id."""
        made = self._make("user", name=name, password=password, domain_id=_DOMAIN)
        for role in roles:
            self.grant(made, project, role)
        return made

    def grant(self, user_id: str, project: str, role: str) -> None:
        """Give somebody a role in a project that was made here."""
        path = f"/projects/{self._ids[project]}/users/{user_id}/roles/{self._roles[role]}"
        self._ask("PUT", self.url + path)

    @functools.cached_property
    def _roles(self) -> dict[str, str]:
        found = self._ask("GET", f"{self.url}/roles").json()["roles"]
        return {role["name"]: role["id"] for role in found}

    def _make(self, noun: str, **values: Any) -> str:
        answer = self._ask("POST", f"{self.url}/{noun}s", json={noun: values})
        return str(answer.json()[noun]["id"])

    def _ask(self, method: str, url: str, **more: Any) -> requests.Response:
        return ask(self.admin, method, url, **more)


def token_of(somebody: session.Session) -> str:
    """Return a token, a new one when the last one is about to run out.

    :raises roost.exception.Unavailable: when Keystone gives none
    """
    try:
        return str(somebody.get_token())
    except exceptions.ClientException as error:
        raise exception.Unavailable(f"Keystone gives no token: {error}") from error


def ask(asking: session.Session, method: str, url: str, **more: Any) -> requests.Response:
    """Ask a service something.

    :raises roost.exception.Unavailable: when it refuses or does not answer
    """
    try:
        return asking.request(url, method, **more)
    except exceptions.HttpError as error:
        said = error.response.text if error.response is not None else ""
        raise exception.Unavailable(f"{method} {url}: {error.message}: {said}") from error
    except exceptions.ClientException as error:
        raise exception.Unavailable(f"{method} {url}: {error}") from error
