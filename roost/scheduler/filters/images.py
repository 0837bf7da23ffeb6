"""Filters by images: properties that hosts must support, and hosts reserved for some images."""

import functools
from collections.abc import Collection, Hashable, Mapping
from typing import Any, Final, Self

import numpy as np

from roost.hardware.image_requirements import ImageRequirements, fits
from roost.scheduler.columns import Columns, Mask
from roost.scheduler.filters import Filter, Refusal, RequirementsFilter
from roost.scheduler.request import Request

_REASONS: Final[Mapping[str, str]] = {
    "architecture": "no guests of the architecture",
    "emulated": "does not emulate the architecture",
    "hypervisor": "not the hypervisor",
    "version": "not the hypervisor version",
    "vm_mode": "not the VM mode",
}


class ImagePropertiesFilter(RequirementsFilter):
    """Allows only hosts that support the image's architecture, hypervisor and VM mode.

    :param architecture: of images without one; None: any
    """

    name = "image_properties"

    def __init__(self, *, architecture: str | None = None) -> None:
        self._architecture = architecture

    @classmethod
    def from_options(cls, options: Any) -> Self:
        return cls(architecture=options.image_properties_default_architecture)

    def applies_to(self, request: Request) -> bool:
        return any(self._asked(request))

    def key(self, request: Request) -> Hashable:
        return self._asked(request)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        wanted = self._asked(request)._asdict()
        return [
            Refusal(
                f"{_REASONS[name]} {value}",
                ~hosts.by_profile(functools.partial(fits, name, value)),
            )
            for name, value in wanted.items()
            if value
        ]

    def _asked(self, request: Request) -> ImageRequirements:
        asked = ImageRequirements.of(request.image_properties())
        if asked.architecture or not self._architecture:
            return asked
        return asked._replace(architecture=self._architecture)


class IsolatedHostsFilter(Filter):
    """Puts isolated images only on isolated hosts, and (if ``strict``) no others there."""

    name = "isolated_hosts"

    def __init__(
        self, *, hosts: Collection[str] = (), images: Collection[str] = (), strict: bool = True
    ) -> None:
        self._hosts = frozenset(hosts)
        self._images = frozenset(images)
        self._strict = strict

    @classmethod
    def from_options(cls, options: Any) -> Self:
        return cls(
            hosts=options.isolated_hosts,
            images=options.isolated_images,
            strict=options.restrict_isolated_hosts_to_isolated_images,
        )

    def applies_to(self, request: Request) -> bool:
        return bool(self._hosts or self._images)

    def key(self, request: Request) -> Hashable:
        return self._is_isolated(request)

    def refuse(self, request: Request, hosts: Columns) -> list[Refusal]:
        isolated: Mask = np.zeros(len(hosts), dtype=np.bool_)
        for name in self._hosts:
            isolated |= hosts.having("host", name)
        if self._is_isolated(request):
            return [Refusal("not a host for isolated images", ~isolated)]
        return [Refusal("reserved for isolated images", isolated)] if self._strict else []

    def _is_isolated(self, request: Request) -> bool:
        return request.image is not None and request.image.id in self._images
