"""Request specs for the schedulers: from command line options, or of an existing server."""

import dataclasses
from collections.abc import Sequence
from typing import Final

from roost import exception, networks
from roost.api.servers.create import RequestedDestination, SchedulingRequest
from roost.api.servers.scheduler_hints import GROUP
from roost.cmd.manage.deployment import Deployment
from roost.cmd.manage.flavor import named_flavor
from roost.context import admin_context
from roost.db.api import aggregates, instance_mappings, server_groups
from roost.hardware import pci_aliases
from roost.hardware.requirements import requirements_of
from roost.objects import ImageMeta, Locality, RequestSpec, ServerGroup
from roost.standalone.known_networks import Known
from roost.standalone.requested_networks import locality_of, networks_of

_NO_NETWORK: Final = "none"


@dataclasses.dataclass(frozen=True, kw_only=True)
class RequestOptions:
    """The request of an operator, by names and ids; ``hints`` are ``KEY=VALUE``."""

    flavor: str
    image: str | None = None
    project: str = "admin"
    zone: str | None = None
    host: str | None = None
    force: bool = False
    aggregate: str | None = None
    group: str | None = None
    network: Sequence[str] = ()
    labels: Sequence[str] = ()
    preferred: Sequence[str] = ()
    hints: Sequence[str] = ()


def of_server(deployment: Deployment, uuid: str) -> RequestSpec:
    """Return the request spec of a server, updated to now.

    :raises roost.exception.NotFound: when there is no such server
    """
    spec = deployment.api_database.query(instance_mappings.spec_for_now, uuid)
    return _for_now(deployment, spec)


def of_options(deployment: Deployment, asked: RequestOptions, *, count: int) -> RequestSpec:
    """Return the request spec that the API would make for ``count`` servers.

    :raises roost.exception.RoostError: when the API would refuse them
    """
    flavor = deployment.api_database.query(named_flavor, asked.flavor)
    image = _image(deployment, asked.image) if asked.image else None
    hints = _hints(asked)
    aliases = pci_aliases.parse(deployment.conf.pci.alias)
    question = SchedulingRequest(
        project_id=asked.project,
        user_id="roost-manage",
        flavor=flavor,
        image=image,
        demands=requirements_of(flavor, image, aliases),
        locality=[
            *_locality(deployment, asked.network),
            *(Locality.of(label=one, hard=True) for one in asked.labels),
            *(Locality.of(label=one, hard=False) for one in asked.preferred),
        ],
        destination=_destination(deployment, asked),
        hints=hints,
    )
    spec = question.spec(count)
    spec.group = _group(deployment, hints)
    spec.requested_aggregate = _aggregate(deployment, asked.aggregate)
    return _for_now(deployment, spec)


def _for_now(deployment: Deployment, spec: RequestSpec) -> RequestSpec:
    """Exclude the cells that get no new servers, as super-conductors do."""
    spec.ignore_cells = [cell.uuid for cell in deployment.cells.closed()]
    return spec


def _image(deployment: Deployment, name: str) -> ImageMeta:
    images, context = deployment.images, admin_context()
    try:
        return images.get(context, name)
    except exception.NotFound:
        named = [image for image in images.list_images(context) if image.name == name]
    if len(named) != 1:
        found = "several images have" if named else "no image has"
        raise exception.NotFound(f"{found} the name {name!r}; see roost-manage image list")
    return named[0]


def _destination(deployment: Deployment, asked: RequestOptions) -> RequestedDestination:
    if asked.force and not asked.host:
        raise exception.Invalid("--force needs --host: only a named host skips the filters")
    if asked.host:
        deployment.cells.of_host(asked.host)
    return RequestedDestination(zone=asked.zone, host=asked.host, forced=asked.force)


def _locality(deployment: Deployment, names: Sequence[str]) -> list[Locality]:
    """Return the labels that networks require; without names, those of the default network."""
    known = networks.parse(deployment.conf.network.local_networks)
    ids = {network.name: network.id for network in known}
    if list(names) == [_NO_NETWORK]:
        return []
    wanted = [{"uuid": ids.get(name, name)} for name in names]
    requests = networks_of({"networks": wanted}, Known(known), alone=False)
    return locality_of(requests, known)


def _hints(asked: RequestOptions) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for entry in asked.hints:
        key, equals, value = entry.partition("=")
        if not (key and equals):
            raise exception.Invalid(f"--hint {entry!r} must read KEY=VALUE")
        found.setdefault(key, []).append(value)
    if asked.group:
        found[GROUP] = [asked.group]
    return found


def _group(deployment: Deployment, hints: dict[str, list[str]]) -> ServerGroup | None:
    """Return the group of the hints, without its members, as requests have it."""
    if GROUP not in hints:
        return None
    group = deployment.api_database.query(server_groups.get, hints[GROUP][0])
    group.members = []
    return group


def _aggregate(deployment: Deployment, name: str | None) -> str | None:
    """Return the uuid of the aggregate of this name, id or uuid."""
    if name is None:
        return None
    known = deployment.api_database.query(aggregates.list_all)
    for aggregate in known:
        if name in (aggregate.name, aggregate.uuid, str(aggregate.id)):
            return str(aggregate.uuid)
    raise exception.NotFound(f"there is no aggregate {name!r}")
