"""Creates servers: the API's side of a boot.

Before: ``servers.py``, with a body that the schema passed. After: ``conductor/boot.py``, by a cast.
What is stored here in one transaction is the truth; the cast is a hint, and while the bus is away
the super-conductors find the request without it.
"""

import dataclasses
import logging
import math
import re
import secrets
import uuid
from typing import Any, Final

from roost import exception, states
from roost.api import policies, server_refusals
from roost.api.call import Call, truth
from roost.api.parts import Parts
from roost.api.server_networks import networks_of
from roost.db.api import build_requests, flavors, quota
from roost.db.engine import retried
from roost.objects import BuildRequest, Flavor, ImageMeta, Instance, NetworkRequest, RequestSpec

LOG = logging.getLogger(__name__)
_NO_HOSTNAME: Final = re.compile(r"[^a-z0-9.-]+")
_MAX_HOSTNAME: Final = 63


@dataclasses.dataclass(frozen=True, kw_only=True)
class Place:
    """Where a user wants a server: any of these may be left open."""

    zone: str | None = None
    host: str | None = None
    node: str | None = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Order:
    """A create request whose names are resolved: ``least`` to ``most`` servers of one kind."""

    call: Call
    asked: dict[str, Any]
    flavor: Flavor
    image: ImageMeta
    networks: list[NetworkRequest]
    place: Place
    least: int
    most: int


@dataclasses.dataclass(frozen=True, kw_only=True)
class Accepted:
    """What was stored: the wishes, of which the first one's instance is shown to the user."""

    request_uuid: str
    instances: list[Instance]


class ServerCreate:
    """Takes orders for servers."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def accept(self, call: Call) -> Accepted:
        """Store what is asked for, then tell the super-conductors.

        :raises roost.exception.Invalid: for what does not exist or does not fit
        :raises roost.exception.QuotaExceeded: when the project may not have so much
        """
        accepted = self._store(self._resolve(call))
        self._tell(call, accepted)
        return accepted

    def _resolve(self, call: Call) -> Order:
        asked = call.body["server"]
        server_refusals.check(asked)
        least, most = _counts(asked, self._parts.options.max_instances_per_request)
        place = self._place(call, asked)
        networks = networks_of(asked, self._parts.networks, alone=most == 1)
        flavor = self._flavor(call, str(asked["flavorRef"]))
        image = self._image(call, server_refusals.image_of(asked))
        _check_fit(flavor, image)
        return Order(
            call=call,
            asked=asked,
            flavor=flavor,
            image=image,
            networks=networks,
            place=place,
            least=least,
            most=most,
        )

    def _flavor(self, call: Call, flavorid: str) -> Flavor:
        try:
            with self._parts.api_database.read() as session:
                flavor = flavors.get(session, flavorid)
        except exception.NotFound as error:
            raise exception.Invalid("Invalid flavorRef provided.") from error
        if flavor.disabled or not (flavor.is_public or call.allows(policies.flavors.ALL)):
            raise exception.Invalid("Invalid flavorRef provided.")
        return flavor

    def _image(self, call: Call, image_id: str) -> ImageMeta:
        try:
            image = self._parts.images.get(image_id)
        except exception.NotFound as error:
            raise exception.Invalid("Can not find requested image") from error
        own = image.owner == call.context.project_id
        if image.visibility == "private" and not own and not call.context.is_admin:
            raise exception.Invalid("Can not find requested image")
        return image

    def _place(self, call: Call, asked: dict[str, Any]) -> Place:
        """Read where the server may go; hosts are named by administrators only."""
        zone, _, forced = (asked.get("availability_zone") or "").partition(":")
        host, _, node = forced.partition(":")
        if forced:
            call.require(policies.servers.FORCED_HOST)
        if "host" in asked or "hypervisor_hostname" in asked:
            call.require(policies.servers.REQUESTED_HOST)
            if forced:
                raise exception.Invalid(
                    "The host is named twice: in availability_zone and by itself."
                )
            host, node = asked.get("host", ""), asked.get("hypervisor_hostname", "")
        if host:
            self._check_host(host)
        return Place(zone=zone or None, host=host or None, node=node or None)

    def _check_host(self, host: str) -> None:
        try:
            self._parts.cells.of_host(host)
        except exception.NotFound as error:
            raise exception.Invalid(f"Compute host {host} could not be found.") from error

    @retried
    def _store(self, order: Order) -> Accepted:
        """Take the quota and insert the wishes: all or nothing."""
        with self._parts.api_database.begin() as session:
            count = self._take_quota(session, order)
            spec = _spec(order, count)
            wishes = [
                _wish(order, spec.request_uuid, wish) for wish in self._instances(order, count)
            ]
            build_requests.create(session, wishes, spec=spec)
        return Accepted(
            request_uuid=spec.request_uuid, instances=[wish.instance for wish in wishes]
        )

    def _take_quota(self, session: Any, order: Order) -> int:
        """Take as much as fits, of what the user said would do; return how many servers that is."""
        count = order.most
        while True:
            try:
                quota.take(
                    session,
                    project_id=str(order.call.context.project_id),
                    instances=count,
                    cores=count * order.flavor.vcpus,
                    ram=count * order.flavor.memory_mb,
                    defaults=self._parts.options.quota,
                )
            except exception.QuotaExceeded as error:
                count = min(count - 1, _room(error, order.flavor))
                if count < order.least:
                    raise _told(error) from error
            else:
                return count

    def _instances(self, order: Order, count: int) -> list[Instance]:
        reservation_id = f"r-{secrets.token_hex(4)}"
        now = self._parts.now()
        return [_instance(order, reservation_id, now, index, count) for index in range(count)]

    def _tell(self, call: Call, accepted: Accepted) -> None:
        try:
            self._parts.super_conductor.schedule_and_build_instances(
                call.context,
                request_uuid=accepted.request_uuid,
                instance_uuids=[instance.uuid for instance in accepted.instances],
            )
        except exception.RoostError as error:
            LOG.warning(
                "the request %s is stored, but no super-conductor was told: %s",
                accepted.request_uuid,
                error,
            )


def password() -> str:
    """Return a new password of twelve letters and digits."""
    return secrets.token_urlsafe(16).replace("-", "a").replace("_", "b")[:12]


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


def _check_fit(flavor: Flavor, image: ImageMeta) -> None:
    if image.status != "active":
        raise exception.Invalid(f"Image {image.id} is not active.")
    if flavor.memory_mb < image.min_ram:
        raise exception.Invalid("Flavor's memory is too small for requested image.")
    least_disk = max(image.min_disk, math.ceil(image.size / 2**30))
    if 0 < flavor.root_gb < least_disk:
        raise exception.Invalid(
            "Flavor's disk is too small for requested image. Flavor disk is "
            f"{flavor.root_gb} GiB, the image needs {least_disk} GiB."
        )


def _spec(order: Order, count: int) -> RequestSpec:
    context = order.call.context
    return RequestSpec(
        request_uuid=str(uuid.uuid4()),
        project_id=context.project_id,
        user_id=context.user_id,
        num_instances=count,
        flavor=order.flavor,
        image=order.image,
        availability_zone=order.place.zone,
        requested_host=order.place.host,
        requested_node=order.place.node,
        requested_cell=None,
        ignore_hosts=[],
        ignore_cells=[],
        hints=_hints(order),
        retry=None,
    )


def _hints(order: Order) -> dict[str, list[str]]:
    body = order.call.body
    hints = body.get("os:scheduler_hints") or body.get("OS-SCH-HNT:scheduler_hints")
    hints = hints or order.asked.get("os:scheduler_hints") or {}
    return {
        name: [str(one) for one in (value if isinstance(value, list) else [value])]
        for name, value in hints.items()
    }


def _wish(order: Order, request_uuid: str, instance: Instance) -> BuildRequest:
    context = order.call.context
    return BuildRequest(
        instance_uuid=instance.uuid,
        request_uuid=request_uuid,
        request_id=context.request_id,
        project_id=context.project_id,
        user_id=context.user_id,
        instance=instance,
        created_at=instance.created_at,
    )


def _instance(order: Order, reservation_id: str, now: Any, index: int, count: int) -> Instance:
    asked, context = order.asked, order.call.context
    suffix = f"-{index + 1}" if count > 1 else ""
    identity = str(uuid.uuid4())
    vm_state, task_state = states.WAITING
    return Instance(
        uuid=identity,
        project_id=context.project_id,
        user_id=context.user_id,
        reservation_id=reservation_id,
        launch_index=index,
        display_name=asked["name"].strip()[: 255 - len(suffix)] + suffix,
        display_description=asked.get("description"),
        hostname=_hostname(asked, suffix, identity),
        flavor=order.flavor,
        image=order.image,
        key_name=None,
        user_data=asked.get("user_data"),
        config_drive=truth(str(asked.get("config_drive") or ""), name="config_drive"),
        metadata=dict(asked.get("metadata") or {}),
        tags=list(asked.get("tags") or []),
        access_ip_v4=asked.get("accessIPv4") or None,
        access_ip_v6=asked.get("accessIPv6") or None,
        availability_zone=order.place.zone,
        host=None,
        node=None,
        attempt=0,
        vm_state=vm_state,
        task_state=task_state,
        power_state=states.NOSTATE,
        networks=order.networks,
        network_info=None,
        created_at=now,
        updated_at=None,
        launched_at=None,
        deleted_at=None,
        fault=None,
    )


def _hostname(asked: dict[str, Any], suffix: str, identity: str) -> str:
    """Return the name that the guest gives itself: the one asked for, or what DNS takes of it."""
    named = asked.get("hostname")
    if named:
        return f"{named}{suffix}"[:255]
    words = asked["name"].strip().lower().replace(" ", "-").replace("_", "-")
    clean = _NO_HOSTNAME.sub("", words)[: _MAX_HOSTNAME - len(suffix)].strip(".-")
    return f"{clean}{suffix}" if clean else f"server-{identity}"


def _room(error: exception.QuotaExceeded, flavor: Flavor) -> int:
    """Return how many servers would have fitted when the quota refused."""
    used, limits = error.details["used"], error.details["limits"]
    sizes = {"instances": 1, "cores": flavor.vcpus, "ram": flavor.memory_mb}
    return min(
        ((limits[name] - used[name]) // size for name, size in sizes.items() if limits[name] >= 0),
        default=0,
    )


def _told(error: exception.QuotaExceeded) -> exception.QuotaExceeded:
    """Say it in the words that OpenStack's clients match."""
    over, details = error.details["resources"], error.details

    def each(name: str) -> str:
        return ", ".join(str(details[name][resource]) for resource in over)

    return exception.QuotaExceeded(
        f"Quota exceeded for {', '.join(over)}: Requested {each('asked')}, "
        f"but already used {each('used')} of {each('limits')} {', '.join(over)}",
        **details,
    )
