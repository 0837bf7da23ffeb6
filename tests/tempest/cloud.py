"""The cloud that Tempest is let loose on: a rig with a real Keystone, made by ``roost-rig``.

It ends with the block, and all that Tempest made ends with it.
"""

import contextlib
import dataclasses
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from keystoneauth1.session import Session

from roost.rig.embedded import QUICK
from roost.rig.openstack import contents
from roost.rig.openstack.plan import ADMIN, NEUTRON
from roost.rig.plan import Plan
from tests.external import pages

CELLS, HOSTS = 2, 2
_ROOST_RIG = pathlib.Path(sys.executable).parent / "roost-rig"
_IMAGES = ("tiny", "other")  # the first one comes with the rig
_FLAVORS = ("m1.tiny", "m1.small")
# Tempest counts down from limits, so there are some; each of its classes is a project.
_QUOTA = {
    "instances": 50,
    "cores": 200,
    "ram": 512 * 1024,
    "metadata_items": 128,
    "server_groups": 20,
    "server_group_members": 20,
    "key_pairs": 100,
}
# Roost in one process, with images and networks of its own; or its daemons among their usual
# neighbours.
_ALONE = ("--embedded", "--with", "keystone")
_REAL = ("--db", "mariadb", "--with", "keystone,glance,neutron")


@dataclasses.dataclass(frozen=True)
class Cloud:
    """What Tempest is told of it.

    :param public_network: the id of the one with floating addresses; none: there are none
    """

    identity: str
    password: str  # of the administrator
    flavors: list[str]  # ids; Tempest wants two that differ
    images: list[str]
    hosts: int
    network_extensions: list[str]
    public_network: str = ""


@contextlib.contextmanager
def cloud(cache: pathlib.Path, folder: pathlib.Path, *, real: bool = False) -> Iterator[Cloud]:
    """Run a rig in an empty folder while the block lasts; its logs are left there, in ``log``.

    :param cache: for what is kept from rig to rig
    :param real: with a real Glance and Neutron, too, and all daemons on RabbitMQ and MariaDB
    """
    state = folder / "rig"
    size = ("--cells", str(CELLS), "--hosts", str(HOSTS))
    try:
        _rig(
            "up",
            state,
            *size,
            *(_REAL if real else _ALONE),
            *_settings(pages.made(cache / "pages")),
            "--any-ports",
            "--consoles",
            "--cache",
            str(cache),
        )
        yield _described(Plan.load(state))
    finally:
        if (state / "log").exists():
            shutil.copytree(state / "log", folder / "log")
        _rig("down", state, "--if-there")


def _settings(shown: pages.Pages) -> Iterator[str]:
    options: dict[str, Any] = {**QUICK, "quota": _QUOTA, "console_proxy": {"web": shown.web}}
    for group, values in options.items():
        for name, value in values.items():
            yield from ("--set", f"{group}.{name}={value}")


def _rig(command: str, state: pathlib.Path, *words: str) -> None:
    done = subprocess.run(
        [_ROOST_RIG, command, "--state", state, *words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"roost-rig {command}: {done.stdout}{done.stderr}")


def _described(plan: Plan) -> Cloud:
    openstack = plan.openstack
    admin = contents.admin_session(openstack)
    urls = openstack.endpoints(plan.endpoint)
    contents.add_image(admin, urls["image"], _IMAGES[1])
    network = f"{urls['network']}/v2.0"
    return Cloud(
        identity=openstack.identity,
        password=openstack.passwords[ADMIN],
        flavors=_ids(admin, plan.endpoint, "flavors", *_FLAVORS),
        images=_ids(admin, f"{urls['image']}/v2", "images", *_IMAGES),
        hosts=CELLS * HOSTS,
        network_extensions=[one["alias"] for one in _list(admin, network, "extensions")],
        public_network=(
            _ids(admin, network, "networks", contents.PUBLIC)[0] if openstack.has(NEUTRON) else ""
        ),
    )


def _ids(admin: Session, url: str, noun: str, *names: str) -> list[str]:
    """Return the ids of things with these names."""
    found = {thing["name"]: thing["id"] for thing in _list(admin, url, noun)}
    return [found[name] for name in names]


def _list(admin: Session, url: str, noun: str) -> list[dict[str, Any]]:
    return list(admin.get(f"{url}/{noun}").json()[noun])
