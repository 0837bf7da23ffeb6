"""The network driver for ports of Neutron: creates or adopts them, binds them, and awaits them."""

import dataclasses
import logging
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, Self

from oslo_config import cfg

from roost import exception, states
from roost.compute.network.vifs import Vifs
from roost.context import RequestContext
from roost.external.neutron import Connect, Neutron
from roost.external.neutron_bindings import PortBindings
from roost.external.neutron_ports import BindingFailed, NeutronPorts, is_active, mark
from roost.objects import ExternalEvent, Instance, NetworkInfo, NetworkRequest, Vif, network
from roost.rpc.cell_conductor import CellConductor

_PLUGGING_LOOK: Final = 0.5  # seconds between two checks whether to stop waiting


class Plugging:
    """Stores received plugging events of ports, from before they are bound until a build ends."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._received: dict[str, dict[str, bool]] = {}

    def expect(self, instance_uuid: str) -> None:
        """Store events of an instance's ports from now on, and drop earlier ones."""
        with self._changed:
            self._received[instance_uuid] = {}

    def hear(self, instance_uuid: str, port_id: str, *, works: bool) -> None:
        with self._changed:
            if instance_uuid in self._received:
                self._received[instance_uuid][port_id] = works
                self._changed.notify_all()

    def forget(self, instance_uuid: str) -> None:
        with self._changed:
            self._received.pop(instance_uuid, None)

    def wait(
        self,
        instance_uuid: str,
        port_ids: Collection[str],
        *,
        seconds: float,
        stopped: threading.Event,
    ) -> dict[str, bool]:
        """Return the events of these ports once each has one, one failed, or time is up."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                received = self._of(instance_uuid, port_ids)
                left = deadline - time.monotonic()
                done = len(received) == len(port_ids) or not all(received.values())
                if done or left <= 0 or stopped.is_set():
                    return received
                self._changed.wait(min(left, _PLUGGING_LOOK))

    def _of(self, instance_uuid: str, port_ids: Iterable[str]) -> dict[str, bool]:
        received = self._received.get(instance_uuid, {})
        return {port_id: received[port_id] for port_id in port_ids if port_id in received}


LOG = logging.getLogger(__name__)
# Errors that would be the same on every host: they all use the same Neutron.
_FINAL: Final = (
    exception.Conflict,
    exception.NoCapacity,
    exception.QuotaExceeded,
    exception.NotFound,
    exception.Invalid,
    exception.Forbidden,
)
_ATTACHABLE: Final = [states.ACTIVE, states.PAUSED, states.STOPPED]
_LIBVIRT: Final = "libvirt"  # the virt driver whose guests are plugged
_LOOK: Final = 10.0  # seconds between two reads of ports, in case an event was lost


@dataclasses.dataclass(frozen=True)
class PortWait:
    """How long a build waits for its ports, and whether it fails if they are not active then."""

    seconds: float = 300.0
    is_fatal: bool = True
    look: float = _LOOK


class NeutronDriver:
    """Uses Roost's own credentials; the API has checked that the user may use the ports.

    :param connect: returns the network proxy of openstacksdk
    :param host: this host's name
    :param zone: the zone in the ``device_owner`` of ports, unless the instance has one
    :param vifs: plugs the ports; None: guests of this host are not plugged
    """

    host_bound = False

    def __init__(
        self,
        connect: Connect,
        conductor: CellConductor,
        *,
        host: str,
        zone: str,
        waiting: PortWait,
        vifs: Vifs | None = None,
    ) -> None:
        self._ports = NeutronPorts(connect)
        self._bindings = PortBindings(self._ports, connect)
        self._vifs = vifs
        self._conductor = conductor
        self._host = host
        self._zone = zone
        self._waiting = waiting
        self._plugging = Plugging()

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, conductor: CellConductor) -> Self:
        group = conf.neutron
        return cls(
            Neutron(conf).ours,
            conductor,
            host=conf.host,
            zone=conf.compute.availability_zone,
            waiting=PortWait(group.vif_plugging_timeout, group.vif_plugging_is_fatal),
            vifs=Vifs.from_conf(conf) if conf.compute.virt_driver == _LIBVIRT else None,
        )

    def allocate(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        """Allocate the ports, and update the row of an instance that is built to spawning.

        One that moves keeps the ports that it has; its row is updated by the report of its step.
        Its host is prepared for them already if it is migrated live: see :meth:`expect`.
        """
        self._plugging.expect(instance.uuid)
        builds = instance.task_state in states.BUILD_TASKS
        with _failures():
            if builds:
                ports = self._ports.ensure(instance, instance.networks, **self._location(instance))
            elif instance.task_state == states.MIGRATING:
                ports = self._bindings.activate(instance, host=self._host)
            else:
                ports = self._ports.rebind(instance, host=self._host)
            info = self._ports.describe(ports)
        info = self.plug(instance, info)
        if not builds:
            return info
        try:
            self._go_on(context, instance, info)
        except exception.NotFound as error:  # it was deleted before these ports existed
            self._ports.free(instance.uuid)
            raise exception.Conflict(error.message) from error
        return info

    def expect(self, instance: Instance) -> NetworkInfo:
        with _failures():
            info = self._ports.describe(self._bindings.prepare(instance, host=self._host))
        return self.plug(instance, info)

    def plug(self, instance: Instance, info: NetworkInfo) -> NetworkInfo:
        return self._vifs.plug(instance.uuid, info) if self._vifs else info

    def unplug(self, instance_uuid: str) -> None:
        if self._vifs:
            self._vifs.unplug(instance_uuid)

    def plugged(self) -> list[str]:
        return self._vifs.plugged() if self._vifs else []

    def restore(self) -> None:
        if self._vifs:
            self._vifs.restore()

    def _go_on(self, context: RequestContext, instance: Instance, info: NetworkInfo) -> None:
        self._conductor.write_interfaces(
            context,
            instance_uuid=instance.uuid,
            network_info=info,
            expected={
                "host": self._host,
                "attempt": instance.attempt,
                "task_state": [states.NETWORKING, states.SPAWNING],
            },
            spawns=True,
        )

    def await_plugged(
        self, instance: Instance, info: NetworkInfo, *, stopped: threading.Event
    ) -> NetworkInfo:
        """Wait until the ports are active, by Neutron's events and periodic polling.

        :param stopped: once set, the wait ends
        :raises roost.exception.BuildFailed: when they are not active in time, and that is fatal
        """
        deadline = time.monotonic() + self._waiting.seconds
        try:
            while not stopped.is_set() and (waiting := _missing(info)):
                left = deadline - time.monotonic()
                if left <= 0:
                    self._abandon(instance, f"did not work within {self._waiting.seconds:g} s")
                    break
                info = self._look(instance, info, waiting, seconds=left, stopped=stopped)
        finally:
            self._plugging.forget(instance.uuid)
        return info

    def _look(
        self,
        instance: Instance,
        info: NetworkInfo,
        waiting: Sequence[str],
        *,
        seconds: float,
        stopped: threading.Event,
    ) -> NetworkInfo:
        """Wait for a while, and return the state of the ports then."""
        pause = min(seconds, self._waiting.look)
        received = self._plugging.wait(instance.uuid, waiting, seconds=pause, stopped=stopped)
        if not all(received.values()):
            self._abandon(instance, "could not be plugged")
        works = {port_id for port_id, works in received.items() if works}
        if works != {*waiting}:
            works |= self._active(instance)
        for vif in info.vifs:
            vif.active = vif.active or vif.id in works
        return info

    def _active(self, instance: Instance) -> set[str]:
        try:
            return {port.id for port in self._ports.held(instance.uuid) if is_active(port)}
        except exception.Unavailable as error:
            LOG.warning("[instance: %s] ports cannot be read: %s", instance.uuid, error.message)
            return set()

    def _abandon(self, instance: Instance, why: str) -> None:
        LOG.warning("[instance: %s] ports %s on %s", instance.uuid, why, self._host)
        if self._waiting.is_fatal:
            raise exception.BuildFailed(f"The ports of the server {why}.")

    def hear(self, event: ExternalEvent) -> None:
        if event.name == network.VIF_PLUGGED and event.tag is not None:
            works = event.status == network.COMPLETED
            self._plugging.hear(str(event.instance_uuid), event.tag, works=works)

    def describe(self, instance_uuids: Collection[str]) -> dict[str, NetworkInfo]:
        infos = self._ports.describe_all(instance_uuids)
        if self._vifs is None:
            return infos
        return {uuid: self._vifs.completed(info) for uuid, info in infos.items()}

    def refresh(self, context: RequestContext, instance_uuid: str) -> None:
        info = self.describe([instance_uuid])[instance_uuid]
        try:
            self._write(context, instance_uuid, info, {"host": self._host})
        except (exception.Conflict, exception.NotFound) as error:
            LOG.info(
                "[instance: %s] row is no longer this host's: %s", instance_uuid, error.message
            )

    def free(self, context: RequestContext, instance: Instance) -> None:
        self._plugging.forget(instance.uuid)
        self._ports.free(instance.uuid)

    def attach(
        self, context: RequestContext, instance: Instance, request: NetworkRequest, *, key: str
    ) -> Vif:
        held = self._ports.held(instance.uuid)
        port = next((one for one in held if mark(one).get("key") == key), None)
        if port is None:
            position = max((mark(one)["position"] for one in held), default=-1) + 1
            said = {"position": position, "tag": request.tag, "key": key}
            port = self._ports.take(instance, request, said=said, **self._location(instance))
        try:
            info = self.plug(instance, self._ports.describe(self._ports.held(instance.uuid)))
            self._write(context, instance.uuid, info, self._at_rest())
        except (exception.Conflict, exception.NotFound, exception.BuildFailed):
            self._ports.release(port)
            self._plug_the_rest(instance)
            raise
        return next(vif for vif in info.vifs if vif.id == port.id)

    def detach(self, context: RequestContext, instance: Instance, port_id: str) -> None:
        for port in self._ports.held(instance.uuid):
            if port.id == port_id:
                self._ports.release(port)
        left = self._plug_the_rest(instance)
        self._write(context, instance.uuid, left, self._at_rest())

    def _plug_the_rest(self, instance: Instance) -> NetworkInfo:
        """Plug the instance's current ports only, so that removed ones are unplugged."""
        return self.plug(instance, self._ports.describe(self._ports.held(instance.uuid)))

    def _at_rest(self) -> dict[str, Any]:
        return {"host": self._host, "vm_state": _ATTACHABLE}

    def _write(
        self, context: RequestContext, uuid: str, info: NetworkInfo, expected: dict[str, Any]
    ) -> None:
        self._conductor.write_interfaces(
            context, instance_uuid=uuid, network_info=info, expected=expected
        )

    def _location(self, instance: Instance) -> dict[str, str]:
        return {"host": self._host, "zone": instance.availability_zone or self._zone}


def _missing(info: NetworkInfo) -> list[str]:
    return [str(vif.id) for vif in info.vifs if not vif.active]


@contextmanager
def _failures() -> Iterator[None]:
    """Raise build failures; binding failures and outages are reschedulable."""
    try:
        yield
    except _FINAL as error:
        raise exception.BuildFailed(error.message, reschedulable=False) from error
    except (BindingFailed, exception.Unavailable) as error:
        raise exception.BuildFailed(error.message) from error
