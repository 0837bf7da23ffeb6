"""Rebuild: recreates the guest of a server, from another image or the same.

The server keeps its host, claim and networks; other attributes in the body are changed at once. The
row gets the new image when the host has it and destroys the old guest.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from roost import exception
from roost.api.compute import quota_resources
from roost.api.dependencies import Dependencies
from roost.api.locator import ServerRef
from roost.api.policy import MEMBER, Rule
from roost.api.request import Answer, Call, short_ip, truth
from roost.api.servers import guest_config, images, operations, views
from roost.api.servers.guest_config import keypair_of, password
from roost.api.servers.metadata import METADATA
from roost.api.servers.schemas import (
    CERTIFICATES,
    FILES,
    FQDN_TEXT,
    HOSTNAME_TEXT,
    IP4,
    IP6,
    USER_DATA,
)
from roost.api.servers.server_action import action
from roost.api.servers.views import viewer_of
from roost.api.validation import BOOLEAN, EVER, NAME, OPTIONAL_TEXT, TEXT, UUID, grown, of
from roost.db.api import quota, server_groups
from roost.hardware import traits
from roost.hardware.image_requirements import ImageRequirements
from roost.hardware.numa import numa_topology_of
from roost.hardware.pci_aliases import PciAlias
from roost.hardware.requirements import check_other_image, pci_requests_of
from roost.objects import (
    Flavor,
    HostReport,
    ImageMeta,
    InjectedFile,
    Instance,
    OperationParams,
)
from roost.objects.flavor import root_gb
from roost.operations.kinds import REBUILD

TRUSTED_CERTS_POLICY = Rule(
    "os_compute_api:servers:rebuild:trusted_certs",
    MEMBER,
    "Specify trusted certificates for the new image of a server.",
)
_REBUILD: Final = "rebuild"
_GROUPS_SINCE: Final = 71
# Key in the request body -> column, and conversion of the value.
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
        """Write the task into the row, cast to the host, and show the server.

        :raises roost.exception.Invalid: when a requirement of the request cannot be met
        :raises roost.exception.Conflict: when the server's state does not allow the action
        :raises roost.exception.QuotaExceeded: for too much metadata, or too many or large files
        """
        asked = call.body[_REBUILD]
        _refuse(call, asked, project_id=server_ref.instance.project_id)
        if asked.get("trusted_image_certificates"):
            images.check_verification(self._dependencies.options)
        image = self._image(call, server_ref.instance)
        files = guest_config.files_of(asked) if "personality" in asked else None
        self._check_limits(server_ref.instance, asked.get("metadata") or {}, files or [])
        operation = operations.accept(
            self._dependencies,
            call,
            server_ref,
            REBUILD,
            params=OperationParams.of(image=image),
            changes=self._changes(call),
            files=files,
        )
        secret = asked.get("adminPass") or password()
        operations.send(call, server_ref, operation, password=secret)
        return self._answer(call, operation.instance, image, secret)

    def _image(self, call: Call, instance: Instance) -> ImageMeta:
        """Return the new image, whose requirements the server's host must meet."""
        image = images.usable(call, self._dependencies, call.body[_REBUILD]["imageRef"])
        check_other_image(instance.flavor, image, before=instance.image)
        _check_demands(instance, image, self._dependencies.options.pci_aliases)
        self._check_host(call, instance, image)
        _check_disk(instance, image)
        return image

    def _check_host(self, call: Call, instance: Instance, image: ImageMeta) -> None:
        """Make sure that the server's host, which does not change, meets the image's requirements.

        It meets those of the old image; for others the scheduler has the host's report.

        :raises roost.exception.Invalid: naming the unmet requirements
        :raises roost.exception.Conflict: when no scheduler has a report of the host
        """
        requests = _requests_beyond(instance, image)
        if not requests:
            return
        known = self._dependencies.scheduler.list_hosts(call.context, host=str(instance.host))
        here = next((one for one in known if one.node == instance.node), None)
        if here is None:
            raise exception.Conflict("There is no report of the server's host; try again later.")
        missing = requests.missing(here)
        if missing:
            raise exception.Invalid(
                f"The server's host does not meet the image's requirements ({', '.join(missing)}):"
                " create a new server from the image."
            )

    def _changes(self, call: Call) -> dict[str, Any]:
        asked = call.body[_REBUILD]
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

    def _answer(self, call: Call, instance: Any, image: ImageMeta, secret: str) -> Answer:
        instance.image = image  # the response shows the new image
        shown = views.Shown(instance=instance, groups=self._groups(call, str(instance.uuid)))
        extra = {"adminPass": secret} if self._dependencies.options.instance_password else {}
        body = views.rebuilt(shown, viewer_of(call)) | extra
        location = f"{call.base_url}/v2.1/servers/{instance.uuid}"
        return Answer({"server": body}, headers={"Location": location})

    def _groups(self, call: Call, uuid: str) -> list[str]:
        if call.version < _GROUPS_SINCE:
            return []
        return self._dependencies.api_database.query(server_groups.list_of_instance, uuid)


def _check_demands(instance: Instance, image: ImageMeta, aliases: Mapping[str, PciAlias]) -> None:
    """Make sure that the image needs the NUMA cells and devices that the server has.

    Demands of its flavor that could not be met today stay as they are.

    :raises roost.exception.Invalid: naming what cannot be met, or what differs
    """
    devices = functools.partial(pci_requests_of, aliases=aliases)
    for what, find in (("NUMA cells", numa_topology_of), ("devices", devices)):
        before, asked = (_found(find, instance.flavor, one) for one in (instance.image, image))
        if instance.image is not None and asked != before:
            raise exception.Invalid(
                asked
                if isinstance(asked, str)
                else f"The image needs other {what} than the server has: create a new server."
            )


def _found(
    find: Callable[[Flavor, ImageMeta | None], object], flavor: Flavor, image: ImageMeta | None
) -> object:
    """Return the demands, or the error message if they cannot be met."""
    try:
        return find(flavor, image)
    except exception.Invalid as error:
        return error.message


class _HardwareRequests(NamedTuple):
    """The requirements of an image for a host."""

    required: frozenset[str]  # traits
    forbidden: frozenset[str]
    demands: ImageRequirements

    def __bool__(self) -> bool:
        return any((self.required, self.forbidden, *self.demands))

    def missing(self, host: HostReport) -> list[str]:
        """Return what the host lacks, and its forbidden traits."""
        has = frozenset(host.traits)
        return [
            *sorted(self.required - has),
            *(f"{traits.PREFIX}{one}=forbidden" for one in sorted(self.forbidden & has)),
            *self.demands.unmet(host),
        ]


def _requests_beyond(instance: Instance, image: ImageMeta) -> _HardwareRequests:
    """Return the image's requirements that were not considered when the host was selected."""
    old = instance.image.properties if instance.image else {}
    wanted, had = image.properties.items(), (*old.items(), *instance.flavor.extra_specs.items())
    required, forbidden = traits.required_by, traits.forbidden_by
    return _HardwareRequests(
        required=frozenset(required(wanted)).difference(required(had)),
        forbidden=frozenset(forbidden(wanted)).difference(forbidden(had)),
        demands=ImageRequirements.of(image.properties).beyond(ImageRequirements.of(old)),
    )


def _check_disk(instance: Instance, image: ImageMeta) -> None:
    """Make sure that the root disk is large enough, if the flavor has no size for it.

    :raises roost.exception.Invalid: with its size
    """
    has, needs = root_gb(instance.flavor, instance.image), root_gb(instance.flavor, image)
    if needs > has:
        raise exception.Invalid(
            f"The image needs a root disk of {needs} GiB, but the server has {has} GiB: create"
            " a new server from it."
        )


def _refuse(call: Call, asked: Mapping[str, Any], *, project_id: str) -> None:
    """Check the policy for trusted certificates, and refuse unsupported arguments.

    :raises roost.exception.Forbidden: by the policy
    :raises roost.exception.Invalid: for ``preserve_ephemeral``
    """
    rule = TRUSTED_CERTS_POLICY
    if asked.get("trusted_image_certificates") and not call.allows(rule, project_id=project_id):
        raise exception.Forbidden(f"Policy doesn't allow {rule} to be performed.")
    if truth(str(asked.get("preserve_ephemeral", "")), name="preserve_ephemeral"):
        raise exception.Invalid("preserve_ephemeral is not supported by this cloud.")


# Arguments: since, until, property, schema.
_ARGUMENTS: Final = (
    (1, EVER, "imageRef", UUID),
    (1, EVER, "name", NAME),
    (1, EVER, "adminPass", TEXT),
    (1, EVER, "metadata", METADATA),
    (1, EVER, "preserve_ephemeral", BOOLEAN),
    (1, EVER, "OS-DCF:diskConfig", {"type": "string", "enum": ["AUTO", "MANUAL"]}),
    (1, EVER, "accessIPv4", IP4),
    (1, EVER, "accessIPv6", IP6),
    (1, 56, "personality", FILES),
    (19, EVER, "description", OPTIONAL_TEXT),
    (54, EVER, "key_name", {**OPTIONAL_TEXT, "minLength": 1}),
    (57, EVER, "user_data", USER_DATA),
    (63, EVER, "trusted_image_certificates", CERTIFICATES),
    (90, 93, "hostname", HOSTNAME_TEXT),
    (94, EVER, "hostname", FQDN_TEXT),
)

ACTIONS: Final = (
    action(
        _REBUILD,
        ServerRebuild,
        Rule("os_compute_api:servers:rebuild", MEMBER, "Rebuild a server."),
        grown(_ARGUMENTS, lambda _minor, found: of(found, required=["imageRef"])),
        checks=(TRUSTED_CERTS_POLICY,),
    ),
)
