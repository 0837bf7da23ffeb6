"""Version documents of Compute, Image and Network, which clients read before anything else."""

from typing import Any, Final

from roost.api import microversions
from roost.api.dependencies import Dependencies
from roost.api.policy import ANYBODY, Rule
from roost.api.request import Answer, Call
from roost.api.route import Route, row

VERSIONS_POLICY = Rule(
    "roost:versions", ANYBODY, "Read the version documents, as clients do before they authenticate."
)


_UPDATED: Final = "2013-07-23T11:33:21Z"  # the date that Nova shows for v2.1
_LEGACY_UPDATED: Final = "2011-01-21T11:33:21Z"  # the date that Nova shows for v2.0
_MEDIA_TYPE: Final = "application/vnd.openstack.compute+json;version="


def compute(base_url: str) -> dict[str, Any]:
    """Return Compute v2.1 with the range of its microversions."""
    return {
        "id": "v2.1",
        "status": "CURRENT",
        "version": microversions.name(microversions.MAXIMUM),
        "min_version": microversions.name(microversions.MINIMUM),
        "updated": _UPDATED,
        "links": [{"rel": "self", "href": f"{base_url}/v2.1/"}],
    }


def legacy_compute(base_url: str) -> dict[str, Any]:
    """Return Compute v2.0, which has no microversions."""
    return {
        "id": "v2.0",
        "status": "SUPPORTED",
        "version": "",
        "min_version": "",
        "updated": _LEGACY_UPDATED,
        "links": [{"rel": "self", "href": f"{base_url}/v2/"}],
    }


def compute_in_full(base_url: str) -> dict[str, Any]:
    """Return the same version with its media types, as its own root shows it."""
    return {**compute(base_url), "media-types": _media_types("2.1")}


def legacy_compute_in_full(base_url: str) -> dict[str, Any]:
    """Return the same version with its media types, as its own root shows it."""
    return {**legacy_compute(base_url), "media-types": _media_types("2")}


def _media_types(version: str) -> list[dict[str, Any]]:
    return [{"base": "application/json", "type": f"{_MEDIA_TYPE}{version}"}]


def image(base_url: str) -> list[dict[str, Any]]:
    """Return the version of Image, which is read-only."""
    return [
        {
            "id": "v2.0",
            "status": "CURRENT",
            "links": [{"rel": "self", "href": f"{base_url}/image/v2/"}],
        }
    ]


def network(base_url: str) -> dict[str, Any]:
    """Return the version of Network, which is read-only."""
    return {
        "id": "v2.0",
        "status": "CURRENT",
        "links": [{"rel": "self", "href": f"{base_url}/network/v2.0/"}],
    }


def network_resources(base_url: str) -> list[dict[str, Any]]:
    """Return the resources of Network."""
    return [
        {
            "name": noun,
            "collection": f"{noun}s",
            "links": [{"rel": "self", "href": f"{base_url}/network/v2.0/{noun}s"}],
        }
        for noun in ("network", "subnet", "port")
    ]


class Versions:
    """Handlers of the roots of Compute, Image and Network."""

    def __init__(self, dependencies: Dependencies) -> None:
        """No dependency is needed: the documents depend on the URL only."""

    def list_compute(self, call: Call) -> Answer:
        legacy, current = legacy_compute(call.base_url), compute(call.base_url)
        return Answer({"versions": [legacy, current]})

    def show_compute(self, call: Call) -> Answer:
        return Answer({"version": compute_in_full(call.base_url)})

    def show_legacy_compute(self, call: Call) -> Answer:
        return Answer({"version": legacy_compute_in_full(call.base_url)})

    def list_image(self, call: Call) -> Answer:
        return Answer({"versions": image(call.base_url)})

    def list_network(self, call: Call) -> Answer:
        return Answer({"versions": [network(call.base_url)]})

    def show_network(self, call: Call) -> Answer:
        return Answer({"resources": network_resources(call.base_url)})


ROUTES: Final[tuple[Route, ...]] = (
    row("GET /", (Versions, Versions.list_compute), VERSIONS_POLICY),
    row("GET /v2", (Versions, Versions.show_legacy_compute), VERSIONS_POLICY),
    row("GET /v2.1", (Versions, Versions.show_compute), VERSIONS_POLICY),
    row("GET /image", (Versions, Versions.list_image), VERSIONS_POLICY),
    row("GET /image/v2", (Versions, Versions.list_image), VERSIONS_POLICY),
    row("GET /network", (Versions, Versions.list_network), VERSIONS_POLICY),
    row("GET /network/v2.0", (Versions, Versions.show_network), VERSIONS_POLICY),
)
