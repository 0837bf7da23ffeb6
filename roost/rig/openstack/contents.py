"""Fill services that were started for a rig: people, a catalog, an image, networks."""

from typing import Any, Final

from keystoneauth1 import session

from roost.rig.openstack.identity import KeystoneAdmin, ask, login
from roost.rig.openstack.plan import (
    ADMIN,
    MEMBER,
    NAMES,
    NEUTRON,
    SERVICE,
    SERVICES,
    Openstack,
)

IMAGE_BYTES: Final = 64 * 1024
PRIVATE, PUBLIC, ROUTER, POOL = "private", "public", "router", "shared-default-subnetpool"
# Of no network of this machine; nothing of them leaves Neutron's database.
_PRIVATE_RANGE: Final = "10.0.0.0/24"
_PUBLIC_RANGE: Final = "203.0.113.0/24"
_POOL_RANGE: Final = "10.1.0.0/16"
# What Neutron's migrations put into its tables, and makers of tables do not: what new security
# groups let pass; the default one of each project also its own members.
_RULES: Final = [
    {"direction": direction, "ethertype": ethertype, "used_in_default_sg": True, **more}
    for ethertype in ("IPv4", "IPv6")
    for direction, more in (
        ("egress", {"used_in_non_default_sg": True}),
        ("ingress", {"used_in_non_default_sg": False, "remote_group_id": "PARENT"}),
    )
]


def fill_identity(services: Openstack, compute: str) -> None:
    """Make a member, the services' own users, and the catalog.

    :param compute: the address of Roost's API
    """
    identity = KeystoneAdmin(services.identity, services.passwords[ADMIN])
    identity.project(SERVICE)
    for name in SERVICES:
        identity.user(name, services.passwords[name], SERVICE, "service", "admin")
    identity.project(MEMBER)
    identity.user(MEMBER, services.passwords[MEMBER], MEMBER, "member")
    identity.grant(str(identity.admin.get_user_id()), MEMBER, "admin")
    identity.region()
    for kind, url in services.endpoints(compute).items():
        identity.service(kind, url, name=NAMES[kind])


def admin_session(services: Openstack) -> session.Session:
    """Return a session of the administrator in the project of the member."""
    return login(services.identity, ADMIN, MEMBER, services.passwords[ADMIN])


def add_image(admin: session.Session, url: str, name: str) -> None:
    """Give everybody an image of zeros.

    :param url: of the API of images
    """
    values = {"name": name, "disk_format": "raw", "container_format": "bare"}
    made = ask(admin, "POST", f"{url}/v2/images", json={**values, "visibility": "public"}).json()
    ask(
        admin,
        "PUT",
        f"{url}/v2/images/{made['id']}/file",
        data=bytes(IMAGE_BYTES),
        headers={"Content-Type": "application/octet-stream"},
    )


def fill_neutron(services: Openstack) -> None:
    """Make a network of the member's behind a router, and an external one for floating addresses.

    Other projects get networks of their own when they ask for any (``--nic auto``).
    """
    networks = NeutronAdmin(services)
    for rule in _RULES:
        networks.make("default-security-group-rule", **rule)
    public = networks.make("network", name=PUBLIC, is_default=True, **{"router:external": True})
    networks.subnet(public, _PUBLIC_RANGE, name=PUBLIC, enable_dhcp=False)
    member = {"project_id": networks.member}
    private = networks.make("network", name=PRIVATE, **member)
    inside = networks.subnet(private, _PRIVATE_RANGE, name=PRIVATE, **member)
    leads = {"external_gateway_info": {"network_id": public}}
    router = networks.make("router", name=ROUTER, **member, **leads)
    networks.join(router, inside)
    networks.make(
        "subnetpool",
        name=POOL,
        prefixes=[_POOL_RANGE],
        default_prefixlen=26,
        shared=True,
        is_default=True,
    )


class NeutronAdmin:
    """Neutron as its administrator uses it."""

    def __init__(self, services: Openstack) -> None:
        self._admin = admin_session(services)
        self._url = f"{services.url(NEUTRON)}/v2.0"
        self.member = str(self._admin.get_project_id())

    def make(self, kind: str, **values: Any) -> str:
        """Make a thing, and return its id."""
        noun = kind.replace("-", "_")
        answer = ask(self._admin, "POST", f"{self._url}/{kind}s", json={noun: values})
        return str(answer.json()[noun]["id"])

    def subnet(self, network: str, cidr: str, **values: Any) -> str:
        return self.make("subnet", network_id=network, ip_version=4, cidr=cidr, **values)

    def join(self, router: str, subnet: str) -> None:
        """Let a router lead out of a subnet."""
        path = f"{self._url}/routers/{router}/add_router_interface"
        ask(self._admin, "PUT", path, json={"subnet_id": subnet})
