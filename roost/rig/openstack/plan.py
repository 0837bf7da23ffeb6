"""Which OpenStack services a rig has beside Roost, where they are, and as whom all come to them."""

import dataclasses
import secrets
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.rig.files import Options

REGION: Final = "RegionOne"
SERVICE: Final = "service"  # the project of the services' own users
ADMIN, MEMBER = "admin", "demo"  # people; each has a project of that name, too
KEYSTONE, GLANCE, NEUTRON = "keystone", "glance", "neutron"
# In the order of their start, each with its usual port.
_PORTS: Final = {KEYSTONE: 5000, GLANCE: 9292, NEUTRON: 9696}
_TYPES: Final = {KEYSTONE: "identity", GLANCE: "image", NEUTRON: "network"}
# As all clouds name who serves a type, whoever it is: libcloud finds nothing under another name.
NAMES: Final = {kind: name for name, kind in _TYPES.items()} | {
    "compute": "nova",
    "placement": "placement",
}
_NEEDED: Final = {GLANCE: KEYSTONE, NEUTRON: KEYSTONE}
_ROOST: Final = "roost"
_SECONDS: Final = 120  # that they may take to answer: they serve one request after the other
SERVICES: Final = (_ROOST, GLANCE, NEUTRON)  # who has a user in the project ``service``


@dataclasses.dataclass(frozen=True)
class Openstack:
    """The services that a rig has beside Roost; none, when there are no ports.

    :param ports: of 127.0.0.1, by the name of the service
    :param passwords: of people and of services, by their names
    """

    ports: Mapping[str, int] = dataclasses.field(default_factory=dict)
    passwords: Mapping[str, str] = dataclasses.field(default_factory=dict, repr=False)

    def __bool__(self) -> bool:
        return bool(self.ports)

    def has(self, name: str) -> bool:
        return name in self.ports

    @property
    def names(self) -> list[str]:
        """The services, in the order of their start."""
        return [name for name in _PORTS if self.has(name)]

    def url(self, name: str) -> str:
        """The address of a service, as the catalog tells it."""
        path = "/v3" if name == KEYSTONE else ""
        return f"http://127.0.0.1:{self.ports[name]}{path}"

    @property
    def identity(self) -> str:
        return self.url(KEYSTONE)

    def credentials(self, user: str) -> dict[str, Any]:
        """Return the options by which a service proves who it is."""
        return credentials(self.identity, user, self.passwords[user])

    def judging(self, user: str) -> dict[str, Any]:
        """Return the options by which a service, as this user, judges tokens."""
        return judging(self.identity, user, self.passwords[user])

    def endpoints(self, compute: str) -> dict[str, str]:
        """Return the addresses in the catalog by the types of services.

        Where there is no Glance or Neutron, Roost serves what stands in for them.

        :param compute: the address of Roost's API
        """
        root = compute.removesuffix("/v2.1")
        own = {
            "compute": compute,
            "image": f"{root}/image",
            "network": f"{root}/network",
            "placement": f"{root}/placement",
        }
        return own | {_TYPES[name]: self.url(name) for name in self.names}

    @property
    def options(self) -> Options:
        """What Roost's daemons are told of them."""
        if not self:
            return {}
        ourselves = self.credentials(_ROOST)
        patient = {**ourselves, "timeout": _SECONDS}
        options: dict[str, dict[str, Any]] = {
            "api": {"auth_strategy": "keystone"},
            "keystone_authtoken": self.judging(_ROOST),
            "service_user": {name: ourselves[name] for name in ourselves if name != "region_name"},
        }
        if self.has(GLANCE):
            options |= {"image": {"store": "glance"}, "glance": patient}
        if self.has(NEUTRON):
            options |= {"network": {"driver": "neutron"}, "neutron": patient}
        return options


def credentials(url: str, user: str, password: str) -> dict[str, Any]:
    """Return the options by which a user of the project ``service`` proves who it is.

    :param url: of Keystone
    """
    return {
        "auth_type": "password",
        "auth_url": url,
        "username": user,
        "user_domain_id": "default",
        "password": password,
        "project_name": SERVICE,
        "project_domain_id": "default",
        "region_name": REGION,
    }


def judging(url: str, user: str, password: str) -> dict[str, Any]:
    """Return the options of keystonemiddleware: how a service, as this user, judges tokens."""
    return {
        "www_authenticate_uri": url,
        "service_token_roles": "service",
        "service_token_roles_required": "true",
        **credentials(url, user, password),
    }


def parse_names(words: str) -> list[str]:
    """Read names of services with commas between them.

    :raises roost.exception.Invalid: naming what there is not, or what one of them needs, too
    """
    names = [word.strip() for word in words.split(",") if word.strip()]
    for name in names:
        if name not in _PORTS:
            raise exception.Invalid(f"--with knows {', '.join(_PORTS)}, but not {name!r}")
        needed = _NEEDED.get(name)
        if needed and needed not in names:
            raise exception.Invalid(
                f"--with: {name} needs {needed}, which judges its tokens; say"
                f" --with {','.join([needed, *names])}"
            )
    if not names:
        raise exception.Invalid(f"--with must name some of {', '.join(_PORTS)}")
    return names


def new_openstack(names: Sequence[str], free_port: Callable[[int], int]) -> Openstack:
    """Plan services with passwords that nobody knows, on their usual ports or free ones."""
    users = {ADMIN, MEMBER, *SERVICES} if names else ()
    return Openstack(
        ports={name: free_port(_PORTS[name]) for name in _PORTS if name in names},
        passwords={user: secrets.token_urlsafe(18) for user in sorted(users)},
    )
