"""Rebuild: makes the guest of a server anew, from another image or the same.

The server keeps its host, claim and networks; what else the body names is changed at once. The row
names the new image when the host has it and lets go of the old guest.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from roost import exception, states
from roost.api.compute import quota_resources
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.request import Answer, Call, short_ip, truth
from roost.api.servers import guest_config, images, policies, tasks, views
from roost.api.servers.guest_config import keypair_of, password
from roost.api.servers.views import viewer_of
from roost.db.api import quota, server_groups
from roost.hardware import traits
from roost.hardware.image_requirements import ImageRequirements
from roost.hardware.numa import numa_topology_of
from roost.hardware.pci_aliases import PciAlias
from roost.hardware.requirements import check_other_image, pci_requests_of
from roost.objects import Flavor, HostReport, ImageMeta, InjectedFile, Instance
from roost.objects.flavor import root_gb

_WORD: Final = "rebuild"
_GROUPS_SINCE: Final = 71
# What a body calls it -> the column that keeps it, and what becomes of its value.
_PLAIN: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "name": ("display_name", str),
    "description": ("display_description", lambda value: value),
    "OS-DCF:diskConfig": ("disk_config", str),
    "hostname": ("hostname", lambda value: value),
    "metadata": ("metadata", dict),
    "user_data": ("user_data", lambda value: value),
    "accessIPv4": ("access_ip_v4", lambda value: value or None),
    "accessIPv6": ("access_ip_v6", short_ip),
    "trusted_image_certificates": ("trusted_certs", lambda value: list(value or [])),
}


class ServerRebuild:
    """The action ``rebuild``."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies

    def __call__(self, call: Call, server_ref: ServerRef) -> Answer:
        """Write down what is to be done, tell the host, and show the server.

        :raises roost.exception.Invalid: for what cannot be had
        :raises roost.exception.Conflict: when that cannot be done to a server in its state
        :raises roost.exception.QuotaExceeded: when it may not have so much metadata
        """
        asked = call.body[_WORD]
        _refuse(call, asked, project_id=server_ref.instance.project_id)
        if asked.get("trusted_image_certificates"):
            images.check_verification(self._dependencies.options)
        image = self._image(call, server_ref.instance)
        files = guest_config.files_of(asked) if "personality" in asked else None
        self._check_limits(server_ref.instance, asked.get("metadata") or {}, files or [])
        instance = tasks.put_under(
            call,
            server_ref,
            word=_WORD,
            task=states.REBUILDING,
            changes=self._changes(call) | {"task_image": image},
            files=files,
        )
        secret = asked.get("adminPass") or password()
        tasks.do(call, server_ref, instance, password=secret)
        return self._answer(call, instance, image, secret)

    def _image(self, call: Call, instance: Instance) -> ImageMeta:
        """Return the new image, which must fit where the server is."""
        image = images.usable(call, self._dependencies, call.body[_WORD]["imageRef"])
        check_other_image(instance.flavor, image, before=instance.image)
        _check_demands(instance, image, self._dependencies.options.pci_aliases)
        self._check_place(call, instance, image)
        _check_disk(instance, image)
        return image

    def _check_place(self, call: Call, instance: Instance, image: ImageMeta) -> None:
        """Make sure that the server's host, which stays, is what the image asks for.

        What the old image asked for it is; of anything else the scheduler knows what the host says.

        :raises roost.exception.Invalid: naming what it is not
        :raises roost.exception.Conflict: when nobody knows
        """
        wishes = _requests_beyond(instance, image)
        if not wishes:
            return
        known = self._dependencies.scheduler.list_hosts(call.context, host=str(instance.host))
        here = next((one for one in known if one.node == instance.node), None)
        if here is None:
            raise exception.Conflict("Nobody knows what the server's host is; try again later.")
        missing = wishes.missing(here)
        if missing:
            raise exception.Invalid(
                f"The image asks for what the server's host has not ({', '.join(missing)}): make a"
                " new server of it."
            )

    def _changes(self, call: Call) -> dict[str, Any]:
        asked = call.body[_WORD]
        changes = {
            column: clean(asked[name]) for name, (column, clean) in _PLAIN.items() if name in asked
        }
        if "key_name" in asked:
            keypair = keypair_of(asked, call.context, self._dependencies.api_database)
            changes |= {"key_name": asked["key_name"], "keypair": keypair}
        return changes

    def _check_limits(
        self, instance: Instance, metadata: Mapping[str, str], files: Sequence[InjectedFile]
    ) -> None:
        if metadata or files:
            with self._dependencies.api_database.read() as session:
                defaults = self._dependencies.options.quota
                whose = {"project_id": instance.project_id, "user_id": instance.user_id}
                limits = quota.bounds(session, defaults=defaults, **whose)
            quota_resources.check(metadata, most=limits["metadata_items"])
            guest_config.check(files, limits=limits)

    def _answer(self, call: Call, instance: Instance, image: ImageMeta, secret: str) -> Answer:
        instance.image = image  # that it will have
        shown = views.Shown(instance=instance, groups=self._groups(call, str(instance.uuid)))
        told = {"adminPass": secret} if self._dependencies.options.instance_password else {}
        body = views.rebuilt(shown, viewer_of(call)) | told
        location = f"{call.base_url}/v2.1/servers/{instance.uuid}"
        return Answer({"server": body}, headers={"Location": location})

    def _groups(self, call: Call, uuid: str) -> list[str]:
        if call.version < _GROUPS_SINCE:
            return []
        with self._dependencies.api_database.read() as session:
            return server_groups.list_of_instance(session, uuid)


def _check_demands(instance: Instance, image: ImageMeta, aliases: Mapping[str, PciAlias]) -> None:
    """Make sure that the server has what it is to have then.

    What of its flavor could not be had today stays as it is, too.

    :raises roost.exception.Invalid: naming what cannot be had, or what is other than it was
    """
    devices = functools.partial(pci_requests_of, aliases=aliases)
    for what, find in (("NUMA cells", numa_topology_of), ("devices", devices)):
        before, asked = (_found(find, instance.flavor, one) for one in (instance.image, image))
        if instance.image is not None and asked != before:
            raise exception.Invalid(
                asked
                if isinstance(asked, str)
                else f"The image asks for other {what} than the server has: make a new one of it."
            )


def _found(
    find: Callable[[Flavor, ImageMeta | None], object], flavor: Flavor, image: ImageMeta | None
) -> object:
    """Return what a place is looked for by, or why there would be none."""
    try:
        return find(flavor, image)
    except exception.Invalid as error:
        return error.message


class _HardwareRequests(NamedTuple):
    """What an image asks of a host."""

    required: frozenset[str]  # traits
    forbidden: frozenset[str]
    demands: ImageRequirements

    def __bool__(self) -> bool:
        return any((self.required, self.forbidden, *self.demands))

    def missing(self, host: HostReport) -> list[str]:
        """Return what a host is not, and what it has though it should not."""
        has = frozenset(host.traits)
        return [
            *sorted(self.required - has),
            *(f"{traits.PREFIX}{one}=forbidden" for one in sorted(self.forbidden & has)),
            *self.demands.unmet(host),
        ]


def _requests_beyond(instance: Instance, image: ImageMeta) -> _HardwareRequests:
    """Return what nobody looked for when the place of a server was chosen."""
    old = instance.image.properties if instance.image else {}
    wanted, had = image.properties.items(), (*old.items(), *instance.flavor.extra_specs.items())
    required, forbidden = traits.required_by, traits.forbidden_by
    return _HardwareRequests(
        required=frozenset(required(wanted)).difference(required(had)),
        forbidden=frozenset(forbidden(wanted)).difference(forbidden(had)),
        demands=ImageRequirements.of(image.properties).beyond(ImageRequirements.of(old)),
    )


def _check_disk(instance: Instance, image: ImageMeta) -> None:
    """Make sure that no more disk is needed than was set aside, where the flavor says no size.

    :raises roost.exception.Invalid: saying how much there is
    """
    has, needs = root_gb(instance.flavor, instance.image), root_gb(instance.flavor, image)
    if needs > has:
        raise exception.Invalid(
            f"The image needs a root disk of {needs} GiB, but the server was given {has} GiB: make"
            " a new server of it."
        )


def _refuse(call: Call, asked: Mapping[str, Any], *, project_id: str) -> None:
    """Refuse what the caller may not have, and what nobody can have here.

    :raises roost.exception.Forbidden: for the one
    :raises roost.exception.Invalid: for the other
    """
    rule = policies.REBUILD_TRUSTED_CERTS
    if asked.get("trusted_image_certificates") and not call.allows(rule, project_id=project_id):
        raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")
    if truth(str(asked.get("preserve_ephemeral", "")), name="preserve_ephemeral"):
        raise exception.Invalid("preserve_ephemeral is not supported by this cloud.")
