"""Resources that quotas limit, and the microversions that show them; the limit of metadata."""

from collections.abc import Collection, Mapping
from typing import Final

from roost import exception
from roost.db.api import quota
from roost.db.engine import Session
from roost.objects import Instance

# Limits that are stored and shown, but not enforced: the network service has its own.
NETWORKS: Final = ("fixed_ips", "floating_ips", "security_group_rules", "security_groups")
_COUNTED: Final = (
    "cores",
    "injected_file_content_bytes",
    "injected_file_path_bytes",
    "injected_files",
    "instances",
    "key_pairs",
    "metadata_items",
    "ram",
    "server_group_members",
    "server_groups",
)
ALL: Final = tuple(sorted([*NETWORKS, *_COUNTED]))
GROUPS: Final = ("server_group_members", "server_groups")
FILES: Final = ("injected_file_content_bytes", "injected_file_path_bytes", "injected_files")

NO_NETWORKS: Final = 36  # since 2.36 network quotas are left to the network service
CLASSES: Final = 50  # since 2.50 classes have server groups, and no network quotas
NO_FILES: Final = 57  # since 2.57 there are no injected files


def of_sets(version: int) -> list[str]:
    """Return the resources of a project's quota set in a microversion."""
    return _without(NETWORKS if version >= NO_NETWORKS else (), version)


def of_classes(version: int) -> list[str]:
    """Return the resources of a quota class in a microversion."""
    return _without(NETWORKS if version >= CLASSES else GROUPS, version)


def defaults(options: Mapping[str, int]) -> dict[str, int]:
    """Return the default limits, from the options of the group ``quota``."""
    return {**dict.fromkeys(NETWORKS, -1), **options}


def _without(names: Collection[str], version: int) -> list[str]:
    gone = {*names, *(FILES if version >= NO_FILES else ())}
    return [name for name in ALL if name not in gone]


_RESOURCE = "metadata_items"


def read(session: Session, instance: Instance, *, defaults: Mapping[str, int]) -> int:
    """Return the limit of a server's project and user; -1: none."""
    whose = {"project_id": str(instance.project_id), "user_id": str(instance.user_id)}
    return quota.bounds(session, defaults=defaults, **whose)[_RESOURCE]


def check(metadata: Mapping[str, str], *, most: int) -> None:
    """Make sure that a server may have so many metadata items.

    :raises roost.exception.QuotaExceeded: when there are more than ``most``
    """
    if 0 <= most < len(metadata):
        raise exception.QuotaExceeded(
            f"Maximum number of metadata items exceeds {most}",
            resources=[_RESOURCE],
            asked={_RESOURCE: len(metadata)},
            limits={_RESOURCE: most},
        )
