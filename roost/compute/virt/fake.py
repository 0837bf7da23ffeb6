"""A hypervisor that only pretends: for the embedded rig, tests and chaos runs.

Its guests are files, one per guest, so a killed compute finds them again. It can be told to be slow
or to fail: see :mod:`roost.compute.virt.faults`.
"""

import json
import os
import pathlib
import uuid as uuids
from typing import Any, Final, Self

from oslo_config import cfg

from roost import exception, states
from roost.compute.virt.driver import Guest, HostResources
from roost.compute.virt.faults import Faults
from roost.context import RequestContext
from roost.objects import Instance, NetworkInfo

_VERSION: Final = 1
_OWN_STEPS: Final = ("prepare", "spawn", "destroy")  # struck inside the driver, not before a step


class FakeDriver:
    """Keeps guests below ``folder`` as ``guests/<uuid>.json``, written in one go.

    :param resources: what to pretend to have
    :param folder: this host's own, made when first needed
    """

    def __init__(self, resources: HostResources, *, folder: pathlib.Path, faults: Faults) -> None:
        self._resources = resources
        self._guests = folder / "guests"
        self._faults = faults

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        resources = HostResources(
            node=conf.host,
            vcpus=conf.fake_driver.vcpus,
            memory_mb=conf.fake_driver.memory_mb,
            disk_gb=conf.fake_driver.disk_gb,
            hypervisor_type="fake",
            hypervisor_version=_VERSION,
        )
        folder = pathlib.Path(conf.state_path, conf.host)
        return cls(
            resources, folder=folder, faults=Faults(conf.fake_driver.faults_file, host=conf.host)
        )

    def resources(self) -> HostResources:
        return self._resources

    def list_guests(self) -> list[str]:
        return sorted(entry.stem for entry in self._guests.glob("*.json"))

    def exists(self, uuid: str) -> bool:
        return self._file(uuid).exists()

    def describe(self, uuid: str) -> Guest:
        try:
            values = json.loads(self._file(uuid).read_text())
        except FileNotFoundError as error:
            raise exception.NotFound(f"There is no guest {uuid} on this host.") from error
        return Guest(
            **{name: values[name] for name in ("power_state", "vcpus", "memory_mb")}, uuid=uuid
        )

    def spawn(
        self,
        context: RequestContext,
        instance: Instance,
        *,
        image_path: pathlib.Path | None,
        network_info: NetworkInfo,
    ) -> None:
        self._faults.strike("prepare")
        guest = _described(instance, image_path, network_info)
        self._write(instance.uuid, guest | {"power_state": states.NOSTATE})
        self._faults.strike("spawn")
        self._write(instance.uuid, guest | {"power_state": states.RUNNING})

    def destroy(self, uuid: str) -> None:
        self._faults.strike("destroy")
        self._file(uuid).unlink(missing_ok=True)

    def before_step(self, name: str) -> None:
        if name not in _OWN_STEPS:
            self._faults.strike(name)

    def _file(self, uuid: str) -> pathlib.Path:
        return self._guests / f"{uuids.UUID(uuid)}.json"

    def _write(self, uuid: str, guest: dict[str, Any]) -> None:
        self._guests.mkdir(parents=True, exist_ok=True)
        path = self._file(uuid)
        partial = path.with_suffix(".part")
        partial.write_text(json.dumps(guest, indent=2))
        os.replace(partial, path)  # noqa: PTH105 - it is the atomic one


def _described(
    instance: Instance, image_path: pathlib.Path | None, network_info: NetworkInfo
) -> dict[str, Any]:
    return {
        "uuid": instance.uuid,
        "name": instance.display_name,
        "vcpus": instance.flavor.vcpus,
        "memory_mb": instance.flavor.memory_mb,
        "image": str(image_path) if image_path else None,
        "interfaces": [{"mac": vif.mac, "ip": vif.ip} for vif in network_info.vifs],
    }
