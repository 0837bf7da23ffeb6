"""Server create: the API's side of a boot.

Before: ``dispatch.py``, with a validated body. After: ``conductor/super/boot_service.py``, by a
cast. The build requests that are stored here, in one transaction, are authoritative; the cast is a
hint, and while the bus is unavailable the super-conductors find the build requests without it.

roost-manage uses :class:`SchedulingRequest`, too, to explain the placement of a request without
creating servers.
"""

import dataclasses
import datetime
import logging
import re
import secrets
import uuid
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception, states
from roost.api.compute import quota_resources
from roost.api.compute.availability_zones import Zones
from roost.api.compute.flavors import usable_flavor
from roost.api.dependencies import Dependencies
from roost.api.request import Call, short_ip, truth
from roost.api.servers import guest_config, policies, scheduler_hints
from roost.api.servers.block_devices import image_of
from roost.api.servers.guest_config import disk_config_of, keypair_of, provisions_of
from roost.api.servers.images import check_verification, usable
from roost.api.servers.requested_host import check_host, check_node
from roost.api.servers.scheduler_hints import hints_of
from roost.api.servers.tags import unique
from roost.db.api import build_requests, quota
from roost.db.engine import retried
from roost.hardware.requirements import Requirements, requirements_of
from roost.objects import (
    BuildRequest,
    Flavor,
    GuestConfig,
    ImageMeta,
    Instance,
    Keypair,
    Locality,
    NetworkRequest,
    PortResources,
    RequestSpec,
    instance,
)
from roost.security_groups import DEFAULT, Group


@dataclasses.dataclass(frozen=True, kw_only=True)
class RequestedDestination:
    """The requested destination of a server; each of these is optional.

    ``forced``: on that host, without filtering.
    """

    zone: str | None = None
    host: str | None = None
    node: str | None = None
    forced: bool = False


@dataclasses.dataclass(frozen=True, kw_only=True)
class SchedulingRequest:
    """Identical servers, with all names resolved; ``hints`` are the user's, each a list."""

    project_id: str
    user_id: str
    flavor: Flavor
    image: ImageMeta | None
    demands: Requirements = dataclasses.field(default_factory=Requirements)
    port_resources: Sequence[PortResources] = ()
    locality: Sequence[Locality] = ()
    destination: RequestedDestination = dataclasses.field(default_factory=RequestedDestination)
    hints: Mapping[str, list[str]] = dataclasses.field(default_factory=dict)

    def spec(self, count: int, *, request_uuid: str | None = None) -> RequestSpec:
        """Return the request spec for ``count`` servers."""
        return RequestSpec.of(
            request_uuid=request_uuid or str(uuid.uuid4()),
            project_id=self.project_id,
            user_id=self.user_id,
            num_instances=count,
            flavor=self.flavor,
            image=self.image,
            availability_zone=self.destination.zone,
            requested_host=self.destination.host,
            requested_node=self.destination.node,
            forced=self.destination.forced,
            hints=dict(self.hints),
            numa_topology=self.demands.numa_topology,
            pci_requests=list(self.demands.pci_requests),
            port_resources=list(self.port_resources),
            locality=list(self.locality),
        )


LOG = logging.getLogger(__name__)
_DASHES: Final = str.maketrans(" _.", "---")
_NO_LABEL: Final = re.compile(r"[^a-z0-9-]+")
_MAX_LABEL: Final = 63
_MAX_HOSTNAME: Final = 255


@dataclasses.dataclass(frozen=True, kw_only=True)
class CreateRequest:
    """A create request whose names are resolved: ``least`` to ``most`` servers of one kind."""

    call: Call
    asked: dict[str, Any]
    flavor: Flavor
    image: ImageMeta
    keypair: Keypair | None
    demands: Requirements
    networks: list[NetworkRequest]
    security_groups: list[Group]
    provisions: GuestConfig
    locality: list[Locality]
    destination: RequestedDestination
    hints: dict[str, list[str]]
    least: int
    most: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Accepted:
    """The stored build requests; the response shows the first one's instance."""

    request_uuid: str
    instances: list[Instance]

    @property
    def password(self) -> str:
        """The administrator's password of all these servers."""
        given = self.instances[0].provisions
        return str(given.admin_password) if given else ""


@dataclasses.dataclass
class _Draft:
    """The ids of a request and its servers, the same in all attempts to store them.

    ``names`` is the template of guests' names. ``tried``: there was an attempt; it may have been
    committed.
    """

    request_uuid: str
    reservation_id: str
    uuids: list[str]
    at: datetime.datetime
    names: str
    tried: bool = False

    @classmethod
    def of(cls, order: CreateRequest, now: datetime.datetime, names: str) -> "_Draft":
        request_uuid, *uuids = (str(uuid.uuid4()) for _ in range(order.most + 1))
        return cls(request_uuid, f"r-{secrets.token_hex(4)}", uuids, now, names)

    def instances(self, order: CreateRequest, count: int) -> list[Instance]:
        return [_instance(order, self, index, count) for index in range(count)]


class ServerCreate:
    """Accepts create requests."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._networking = dependencies.networking
        self._zones = Zones(dependencies)

    def accept(self, call: Call) -> Accepted:
        """Store the build requests, then cast to the super-conductors.

        :raises roost.exception.Invalid: when a named resource does not exist or does not fit
        :raises roost.exception.QuotaExceeded: when the project's quota does not suffice
        """
        order = self._resolve(call)
        names = self._dependencies.options.instance_name_template
        accepted = self._store(order, _Draft.of(order, self._dependencies.now(), names))
        for each in accepted.instances:
            LOG.info("[instance: %s] build request accepted", each.uuid)
        self._cast_build(call, accepted)
        return accepted

    def _resolve(self, call: Call) -> CreateRequest:
        asked = call.body["server"]
        if asked.get("trusted_image_certificates"):
            call.require(policies.TRUSTED_CERTS)
            check_verification(self._dependencies.options)
        least, most = _counts(asked, self._dependencies.options.max_instances_per_request)
        destination = self._destination(call, asked)
        names = [str(group["name"]) for group in asked.get("security_groups") or []]
        groups = self._networking.groups.named(call, names)
        networks = self._networking.requests(call, asked, groups=groups, least=least, most=most)
        flavor = usable_flavor(self._dependencies.api_database, call, str(asked["flavorRef"]))
        if not flavor.root_gb:
            call.require(policies.ZERO_DISK)
        image = self._image(call, image_of(asked))
        demands = requirements_of(flavor, image, self._dependencies.options.pci_aliases)
        return CreateRequest(
            call=call,
            asked=asked,
            flavor=flavor,
            image=image,
            keypair=keypair_of(asked, call.context, self._dependencies.api_database),
            demands=demands,
            networks=networks,
            security_groups=groups,
            provisions=provisions_of(asked, flavor, image, context=call.context),
            locality=self._networking.locality(networks),
            destination=destination,
            hints=hints_of(call, asked, self._dependencies.api_database),
            least=least,
            most=most,
        )

    def _image(self, call: Call, image_id: str) -> ImageMeta:
        missing = "Can not find requested image"
        return usable(call, self._dependencies, image_id, missing=missing)

    def _destination(self, call: Call, asked: dict[str, Any]) -> RequestedDestination:
        """Read the requested destination; only administrators may name hosts."""
        zone, host, node = _zone_parts(asked.get("availability_zone") or "")
        forced = host or node
        if forced:
            call.require(policies.FORCED_HOST)
        if "host" in asked or "hypervisor_hostname" in asked:
            call.require(policies.REQUESTED_HOST)
            if forced:
                raise exception.Invalid(
                    "The host is specified twice: in availability_zone and by itself."
                )
            host, node = asked.get("host", ""), asked.get("hypervisor_hostname", "")
        if zone:
            self._zones.check(zone)
        if host:
            check_host(self._dependencies, host)
        if node:
            check_node(self._dependencies, call, host, node)
        return RequestedDestination(
            zone=zone or None, host=host or None, node=node or None, forced=bool(forced)
        )

    @retried
    def _store(self, order: CreateRequest, draft: "_Draft") -> Accepted:
        """Take the quota, join the group and insert the build requests: all or nothing."""
        with self._dependencies.api_database.begin() as session:
            stored = draft.tried and build_requests.find_spec(session, draft.request_uuid)
            if stored:
                return Accepted(
                    request_uuid=draft.request_uuid,
                    instances=draft.instances(order, stored.num_instances),
                )
            draft.tried = True
            self._check_limits(session, order)
            count = self._take_quota(session, order)
            spec = _spec(order, count, draft.request_uuid)
            requests = [
                _build_request(order, draft.request_uuid, build_request)
                for build_request in draft.instances(order, count)
            ]
            spec.group = scheduler_hints.join(
                session,
                order.call,
                hints=spec.hints,
                instance_uuids=[build_request.instance_uuid for build_request in requests],
                defaults=self._dependencies.options.quota,
            )
            self._networking.take(
                session,
                requests=order.networks,
                groups=order.security_groups,
                uuids=[build_request.instance_uuid for build_request in requests],
            )
            build_requests.create(session, requests, spec=spec)
        return Accepted(
            request_uuid=spec.request_uuid,
            instances=[build_request.instance for build_request in requests],
        )

    def _check_limits(self, session: Any, order: CreateRequest) -> None:
        """Check the limits that apply to each server by itself."""
        metadata, files = order.asked.get("metadata"), order.provisions.files
        if metadata or files:
            defaults, context = self._dependencies.options.quota, order.call.context
            whose = {"project_id": order.call.project_id, "user_id": str(context.user_id)}
            limits = quota.bounds(session, defaults=defaults, **whose)
            quota_resources.check(metadata or {}, most=limits["metadata_items"])
            guest_config.check(files, limits=limits)

    def _take_quota(self, session: Any, order: CreateRequest) -> int:
        """Take quota for at most ``most`` servers, at least ``least``; return for how many."""
        count, context = order.most, order.call.context
        while True:
            try:
                quota.take(
                    session,
                    project_id=order.call.project_id,
                    user_id=str(context.user_id),
                    instances=count,
                    cores=count * order.flavor.vcpus,
                    ram=count * order.flavor.memory_mb,
                    defaults=self._dependencies.options.quota,
                )
            except exception.QuotaExceeded as error:
                count = min(count - 1, _room(error, order.flavor))
                if count < order.least:
                    raise
            else:
                return count

    def _cast_build(self, call: Call, accepted: Accepted) -> None:
        try:
            self._dependencies.super_conductor.schedule_and_build_instances(
                call.context,
                request_uuid=accepted.request_uuid,
                instance_uuids=[instance.uuid for instance in accepted.instances],
            )
        except exception.RoostError as error:
            LOG.warning(
                "request %s is stored, but no super-conductor received the cast: %s",
                accepted.request_uuid,
                error,
            )


def _counts(asked: dict[str, Any], most_allowed: int) -> tuple[int, int]:
    least = int(asked.get("min_count") or 1)
    most = int(asked.get("max_count") or least)
    if not 1 <= least <= most:
        raise exception.Invalid("min_count must be <= max_count")
    if most > most_allowed:
        raise exception.Invalid(
            f"max_count is {most}, but one request may ask for {most_allowed} servers"
        )
    return least, most


def _zone_parts(asked: str) -> tuple[str, str, str]:
    """Read ``zone``, ``zone:host``, ``zone:host:node`` or ``zone::node``."""
    parts = asked.split(":")
    if len(parts) > 3:  # noqa: PLR2004 - see above
        raise exception.Invalid(f"Unable to parse availability_zone {asked!r}")
    zone, host, node = [*parts, "", ""][:3]
    return zone, host, node


def _spec(order: CreateRequest, count: int, request_uuid: str) -> RequestSpec:
    context = order.call.context
    question = SchedulingRequest(
        project_id=order.call.project_id,
        user_id=str(context.user_id),
        flavor=order.flavor,
        image=order.image,
        demands=order.demands,
        port_resources=[one for network in order.networks for one in network.resources],
        locality=order.locality,
        destination=order.destination,
        hints=order.hints,
    )
    return question.spec(count, request_uuid=request_uuid)


def _build_request(order: CreateRequest, request_uuid: str, instance: Instance) -> BuildRequest:
    context = order.call.context
    return BuildRequest(
        instance_uuid=instance.uuid,
        request_uuid=request_uuid,
        request_id=context.request_id,
        project_id=order.call.project_id,
        user_id=context.user_id,
        instance=instance,
        created_at=instance.created_at,
    )


def _instance(order: CreateRequest, draft: _Draft, index: int, count: int) -> Instance:
    asked, context = order.asked, order.call.context
    suffix = f"-{index + 1}" if count > 1 else ""
    identity = draft.uuids[index]
    vm_state, task_state = states.WAITING
    hostname = _hostname(asked, suffix, identity)
    return Instance(
        uuid=identity,
        project_id=order.call.project_id,
        user_id=context.user_id,
        reservation_id=draft.reservation_id,
        launch_index=index,
        display_name=asked["name"][: 255 - len(suffix)] + suffix,
        display_description=asked.get("description"),
        hostname=hostname,
        instance_name=draft.names % {"uuid": identity, "hostname": hostname[:_MAX_LABEL]},
        flavor=order.flavor,
        image=order.image,
        key_name=order.keypair.name if order.keypair else None,
        keypair=order.keypair,
        user_data=asked.get("user_data"),
        config_drive=truth(str(asked.get("config_drive") or ""), name="config_drive"),
        disk_config=disk_config_of(asked, order.image),
        root_device_name=instance.name_by(order.provisions.block_devices, order.image),
        security_groups=[group.name for group in order.security_groups] or [DEFAULT],
        trusted_certs=list(asked.get("trusted_image_certificates") or []),
        provisions=order.provisions,
        metadata=dict(asked.get("metadata") or {}),
        tags=unique(asked.get("tags") or []),
        access_ip_v4=asked.get("accessIPv4") or None,
        access_ip_v6=short_ip(asked.get("accessIPv6")),
        availability_zone=None,
        host=None,
        node=None,
        attempt=0,
        vm_state=vm_state,
        task_state=task_state,
        power_state=states.NOSTATE,
        networks=order.networks,
        network_info=None,
        created_at=draft.at,
        updated_at=None,
        launched_at=None,
        deleted_at=None,
        fault=None,
    )


def _hostname(asked: dict[str, Any], suffix: str, identity: str) -> str:
    """Return the guest's hostname: the requested one, or the server's name as a DNS label.

    Dots are replaced: they would begin a domain, which is not part of a node's name in a cluster.
    """
    named = asked.get("hostname")
    if named:
        return f"{named[: _MAX_HOSTNAME - len(suffix)]}{suffix}"
    name = asked["name"].lower().translate(_DASHES)
    clean = _NO_LABEL.sub("", name)[: _MAX_LABEL - len(suffix)].strip("-")
    return f"{clean}{suffix}" if clean else f"server-{identity}"


def _room(error: exception.QuotaExceeded, flavor: Flavor) -> int:
    """Return how many servers the quota still allowed when it was exceeded."""
    used, limits = error.details["used"], error.details["limits"]
    sizes = {"instances": 1, "cores": flavor.vcpus, "ram": flavor.memory_mb}
    return min(
        ((limits[name] - used[name]) // size for name, size in sizes.items() if limits[name] >= 0),
        default=0,
    )
