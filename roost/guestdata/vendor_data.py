"""Vendor data of a guest: the operator's static data, and the answers of services.

Each service gets a request per guest. Request and answer are those that OpenStack documents for
*dynamic vendordata*; the caller passes a function that sends the requests.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.guestdata.about import About

STATIC: Final = "static"  # the name of the data from the operator's file
Vendors = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes a request body, and returns the answers by the services' names."""


def asked(about: About, vendors: Vendors) -> Mapping[str, Any]:
    """Return the answers of services for a guest, by the services' names.

    :raises roost.exception.Unavailable: when a required one does not answer
    """
    return vendors(question(about))


def question(about: About) -> dict[str, Any]:
    """Return the request body that a service gets for a guest."""
    instance = about.instance
    return {
        "project-id": instance.project_id,
        "instance-id": str(instance.uuid),
        "image-id": instance.image.id if instance.image else "",
        "user-data": instance.user_data,
        "hostname": about.hostname,
        "metadata": dict(instance.metadata),
        "boot-roles": ",".join(about.boot_roles),
    }


def static(about: About) -> Mapping[str, Any]:
    """Return the operator's data for all guests."""
    return about.operator.vendor_data or {}


def named(about: About) -> dict[str, Any]:
    """Return all vendor data by source, with the operator's file unless it is None."""
    said = about.operator.vendor_data
    return {**({} if said is None else {STATIC: said}), **about.vendors}


def no_services(_question: Mapping[str, Any]) -> Mapping[str, Any]:
    """The :data:`Vendors` of a cloud without vendor data services."""
    return {}
