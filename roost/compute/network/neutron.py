"""The network driver for ports of Neutron: made or taken, bound to this host, and waited for."""

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
from roost.external.neutron import Neutron
from roost.external.neutron_ports import BindingFailed, NeutronPorts, is_active, mark
from roost.objects import ExternalEvent, Instance, NetworkInfo, NetworkRequest, Vif, network
from roost.rpc.cell_conductor import CellConductor

_PLUGGING_LOOK: Final = 0.5  # seconds between two looks whether the waiting is to end


class Plugging:
    """Remembers what was heard of ports, from before they are bound until nobody waits any more."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._heard: dict[str, dict[str, bool]] = {}

    def expect(self, instance_uuid: str) -> None:
        """Remember from now on what is heard of an instance's ports, and nothing from before."""
        with self._changed:
            self._heard[instance_uuid] = {}

    def hear(self, instance_uuid: str, port_id: str, *, works: bool) -> None:
        with self._changed:
            if instance_uuid in self._heard:
                self._heard[instance_uuid][port_id] = works
                self._changed.notify_all()

    def forget(self, instance_uuid: str) -> None:
        with self._changed:
            self._heard.pop(instance_uuid, None)

    def wait(
        self,
        instance_uuid: str,
        port_ids: Collection[str],
        *,
        seconds: float,
        stopped: threading.Event,
    ) -> dict[str, bool]:
        """Return what was heard of these ports: as soon as it is all, one failed, or time is up."""
        deadline = time.monotonic() + seconds
        with self._changed:
            while True:
                heard = self._of(instance_uuid, port_ids)
                left = deadline - time.monotonic()
                done = len(heard) == len(port_ids) or not all(heard.values())
                if done or left <= 0 or stopped.is_set():
                    return heard
                self._changed.wait(min(left, _PLUGGING_LOOK))

    def _of(self, instance_uuid: str, port_ids: Iterable[str]) -> dict[str, bool]:
        heard = self._heard.get(instance_uuid, {})
        return {port_id: heard[port_id] for port_id in port_ids if port_id in heard}


LOG = logging.getLogger(__name__)
# What no other host would cure: they all ask the same Neutron for the same.
_FINAL: Final = (
    exception.Conflict,
    exception.NoCapacity,
    exception.QuotaExceeded,
    exception.NotFound,
    exception.Invalid,
    exception.Forbidden,
)
_ATTACHABLE: Final = [states.ACTIVE, states.PAUSED, states.STOPPED]
_LIBVIRT: Final = "libvirt"  # the hypervisor whose guests are plugged
_LOOK: Final = 10.0  # seconds between two looks at ports, in case an event was lost


@dataclasses.dataclass(frozen=True)
class PortWait:
    """How long a build waits for its ports, and whether it fails if they do not work by then."""

    seconds: float = 300.0
    is_fatal: bool = True
    look: float = _LOOK


class NeutronDriver:
    """Uses our own right; whether the user may have what is asked for, the API has judged.

    :param host: whose interfaces these are
    :param zone: what the owner of ports is called by, unless the instance has a zone
    :param vifs: who plugs; None: guests of this host are plugged into nothing
    """

    host_bound = False

    def __init__(
        self,
        ports: NeutronPorts,
        conductor: CellConductor,
        *,
        host: str,
        zone: str,
        waiting: PortWait,
        vifs: Vifs | None = None,
    ) -> None:
        self._ports = ports
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
            NeutronPorts(Neutron(conf).ours),
            conductor,
            host=conf.host,
            zone=conf.compute.availability_zone,
            waiting=PortWait(group.vif_plugging_timeout, group.vif_plugging_is_fatal),
            vifs=Vifs.from_conf(conf) if conf.compute.virt_driver == _LIBVIRT else None,
        )

    def allocate(self, context: RequestContext, instance: Instance) -> NetworkInfo:
        """Do as the interface says; then let the instance's row go on to its guest."""
        self._plugging.expect(instance.uuid)
        with _failures():
            ports = self._ports.ensure(instance, instance.networks, **self._place(instance))
            info = self._ports.describe(ports)
        info = self.plug(instance, info)
        try:
            self._go_on(context, instance, info)
        except exception.NotFound as error:  # it was buried before these ports were there
            self._ports.free(instance.uuid)
            raise exception.Conflict(error.message) from error
        return info

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
        self._conductor.instance_update(
            context,
            instance_uuid=instance.uuid,
            changes={"task_state": states.SPAWNING, "network_info": info},
            expected={
                "host": self._host,
                "attempt": instance.attempt,
                "task_state": [states.NETWORKING, states.SPAWNING],
            },
            events=[],
        )

    def await_plugged(
        self, instance: Instance, info: NetworkInfo, *, stopped: threading.Event
    ) -> NetworkInfo:
        """Wait until the ports work: for Neutron to say so, and now and then by looking.

        :param stopped: once set, nobody waits any more
        :raises roost.exception.BuildFailed: when they do not in time, and that is fatal
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
        """Wait for a while, and return how the ports are then."""
        pause = min(seconds, self._waiting.look)
        heard = self._plugging.wait(instance.uuid, waiting, seconds=pause, stopped=stopped)
        if not all(heard.values()):
            self._abandon(instance, "could not be plugged")
        works = {port_id for port_id, works in heard.items() if works}
        if works != {*waiting}:
            works |= self._active(instance)
        for vif in info.vifs:
            vif.active = vif.active or vif.id in works
        return info

    def _active(self, instance: Instance) -> set[str]:
        try:
            return {port.id for port in self._ports.held(instance.uuid) if is_active(port)}
        except exception.Unavailable as error:
            LOG.warning("%s: its ports cannot be looked at: %s", instance.uuid, error.message)
            return set()

    def _abandon(self, instance: Instance, why: str) -> None:
        LOG.warning("%s: ports %s on %s", instance.uuid, why, self._host)
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
            LOG.info("%s: its ports are not its own any more: %s", instance_uuid, error.message)

    def free(self, context: RequestContext, instance: Instance) -> None:
        self._ports.free(instance.uuid)

    def attach(
        self, context: RequestContext, instance: Instance, request: NetworkRequest, *, key: str
    ) -> Vif:
        held = self._ports.held(instance.uuid)
        port = next((one for one in held if mark(one).get("key") == key), None)
        if port is None:
            position = max((mark(one)["position"] for one in held), default=-1) + 1
            said = {"position": position, "tag": request.tag, "key": key}
            port = self._ports.take(instance, request, said=said, **self._place(instance))
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
        """Have nothing on the host of ports that the instance has no more."""
        return self.plug(instance, self._ports.describe(self._ports.held(instance.uuid)))

    def _at_rest(self) -> dict[str, Any]:
        return {"host": self._host, "vm_state": _ATTACHABLE}

    def _write(
        self, context: RequestContext, uuid: str, info: NetworkInfo, expected: dict[str, Any]
    ) -> None:
        self._conductor.instance_update(
            context,
            instance_uuid=uuid,
            changes={"network_info": info},
            expected=expected,
            events=[],
        )

    def _place(self, instance: Instance) -> dict[str, str]:
        return {"host": self._host, "zone": instance.availability_zone or self._zone}


def _missing(info: NetworkInfo) -> list[str]:
    return [str(vif.id) for vif in info.vifs if not vif.active]


@contextmanager
def _failures() -> Iterator[None]:
    """Tell apart what another host may cure: that this one cannot be reached, or reaches nobody."""
    try:
        yield
    except _FINAL as error:
        raise exception.BuildFailed(error.message, reschedulable=False) from error
    except (BindingFailed, exception.Unavailable) as error:
        raise exception.BuildFailed(error.message) from error
