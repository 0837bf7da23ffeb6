"""The cloud that Tempest is let loose on: a real Keystone, and a Roost with images and networks.

Both end with the block, and all that Tempest made ends with them.
"""

import contextlib
import dataclasses
import io
import pathlib
from collections.abc import Iterator
from typing import Any

import requests

from roost.context import admin_context
from roost.image.local import LocalImageStore
from roost.rig.embedded import EmbeddedRig
from tests.outside import keystone as outside
from tests.outside.keystone import Keystone

CELLS, HOSTS = 2, 2
NETWORK = "private"
_IMAGE_BYTES = 64 * 1024
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


@dataclasses.dataclass(frozen=True)
class Cloud:
    """What Tempest is told of it."""

    identity: str
    flavors: list[str]  # ids; Tempest wants two that differ
    images: list[str]
    hosts: int
    network_extensions: list[str]


@contextlib.contextmanager
def cloud(installed: pathlib.Path, folder: pathlib.Path) -> Iterator[Cloud]:
    """Run Keystone and Roost in an empty folder while the block lasts.

    :param installed: the folder of ``tools/outside.sh``
    """
    outside.install(installed / "keystone")
    place = folder / "keystone"
    place.mkdir()
    with Keystone(installed / "keystone", place) as keystone, _rig(folder, keystone) as rig:
        _fill_catalog(keystone, rig.endpoint)
        _add_image(rig)
        token = keystone.admin.get_token()
        yield Cloud(
            identity=keystone.url,
            flavors=_ids(rig.endpoint, "flavors", _FLAVORS, token),
            images=_ids(f"{_root(rig.endpoint)}/image/v2", "images", _IMAGES, token),
            hosts=CELLS * HOSTS,
            network_extensions=_extensions(rig.endpoint, token),
        )


@contextlib.contextmanager
def _rig(folder: pathlib.Path, keystone: Keystone) -> Iterator[EmbeddedRig]:
    keystone.project("service")
    keystone.user("roost", "service", "service", "admin")
    overrides = {
        "api": {"auth_strategy": "keystone"},
        "keystone_authtoken": keystone.judging("roost"),
        "quota": _QUOTA,
    }
    rig = EmbeddedRig(folder / "rig", cells=CELLS, hosts=HOSTS, overrides=overrides)
    try:
        rig.start()
        yield rig
    finally:
        rig.stop()


def _root(endpoint: str) -> str:
    return endpoint.removesuffix("/v2.1")


def _fill_catalog(keystone: Keystone, endpoint: str) -> None:
    keystone.service("compute", endpoint)
    keystone.service("image", f"{_root(endpoint)}/image")
    keystone.service("network", f"{_root(endpoint)}/network")


def _add_image(rig: EmbeddedRig) -> None:
    data = io.BytesIO(bytes(_IMAGE_BYTES))
    LocalImageStore(rig.plan.images).add(admin_context(), name=_IMAGES[1], data=data)


def _extensions(endpoint: str, token: str) -> list[str]:
    """Return which parts of the network API there are, by their aliases."""
    found = _get(f"{_root(endpoint)}/network/v2.0/extensions", token)
    return [extension["alias"] for extension in found["extensions"]]


def _ids(url: str, noun: str, names: tuple[str, ...], token: str) -> list[str]:
    """Return the ids of things with these names."""
    found = {thing["name"]: thing["id"] for thing in _get(f"{url}/{noun}", token)[noun]}
    return [found[name] for name in names]


def _get(url: str, token: str) -> dict[str, Any]:
    answer = requests.get(url, headers={"X-Auth-Token": token}, timeout=30)
    answer.raise_for_status()
    answered: dict[str, Any] = answer.json()
    return answered
