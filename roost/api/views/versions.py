"""Version documents as JSON."""

from typing import Any, Final

from roost.api import microversions

_UPDATED: Final = "2013-07-23T11:33:21Z"  # when v2.1 was defined, as its clients know it
_MEDIA_TYPE: Final = "application/vnd.openstack.compute+json;version=2.1"


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


def compute_in_full(base_url: str) -> dict[str, Any]:
    """Return the same as its own root tells it."""
    return {
        **compute(base_url),
        "media-types": [{"base": "application/json", "type": _MEDIA_TYPE}],
    }


def image(base_url: str) -> list[dict[str, Any]]:
    """Return the version of Image, which is for reading."""
    return [
        {
            "id": "v2.0",
            "status": "CURRENT",
            "links": [{"rel": "self", "href": f"{base_url}/image/v2/"}],
        }
    ]


def network(base_url: str) -> dict[str, Any]:
    """Return the version of Network, which is for reading."""
    return {
        "id": "v2.0",
        "status": "CURRENT",
        "links": [{"rel": "self", "href": f"{base_url}/network/v2.0/"}],
    }


def network_resources(base_url: str) -> list[dict[str, Any]]:
    """Return what Network has."""
    return [
        {
            "name": noun,
            "collection": f"{noun}s",
            "links": [{"rel": "self", "href": f"{base_url}/network/v2.0/{noun}s"}],
        }
        for noun in ("network", "subnet", "port")
    ]
