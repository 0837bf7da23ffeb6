"""What a guest is told by its vendor: the operator's own words, and those of services.

A service is asked about each guest. Question and answer are those that OpenStack documents for
*dynamic vendordata*; whoever has a way to other services asks them.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost.guestdata.about import About

STATIC: Final = "static"  # the name of what is in the operator's file
Vendors = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Takes a question, and returns what each service says to it by the service's name."""


def asked(about: About, vendors: Vendors) -> Mapping[str, Any]:
    """Return what services have to say to a guest, by their names.

    :raises roost.exception.Unavailable: when one must answer, and does not
    """
    return vendors(question(about))


def question(about: About) -> dict[str, Any]:
    """Return what a service is told of a guest."""
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
    """Return what the operator tells all guests."""
    return about.operator.vendor_data or {}


def named(about: About) -> dict[str, Any]:
    """Return all of it by source; the operator's file is one, if it is to be told."""
    said = about.operator.vendor_data
    return {**({} if said is None else {STATIC: said}), **about.vendors}


def nobody(_question: Mapping[str, Any]) -> Mapping[str, Any]:
    """Be the :data:`Vendors` of a cloud that has none."""
    return {}
