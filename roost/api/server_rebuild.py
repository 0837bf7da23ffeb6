"""Rebuilds: a server's guest is made anew, from another image or the same.

Its place, claim and networks stay; what else the body names is changed at once. The row names the
new image when the host has it and lets go of the old guest.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from roost import exception, states
from roost.api import metadata_limit, server_image, server_tasks
from roost.api.call import Answer, Call, truth
from roost.api.lookers import looker
from roost.api.parts import Parts
from roost.api.server_demands import demands_of
from roost.api.server_keypair import keypair_of
from roost.api.server_provisions import password
from roost.api.server_spec import check_fit
from roost.api.views import servers as views
from roost.api.whereabouts import Located
from roost.db.api import server_groups
from roost.objects import ImageMeta, Instance

_WORD: Final = "rebuild"
_GROUPS_SINCE: Final = 71
# What a body calls it -> the column that keeps it, and what becomes of its value.
_PLAIN: Final[Mapping[str, tuple[str, Callable[[Any], Any]]]] = {
    "name": ("display_name", str.strip),
    "description": ("display_description", lambda value: value),
    "OS-DCF:diskConfig": ("disk_config", str),
    "hostname": ("hostname", lambda value: value),
    "metadata": ("metadata", dict),
    "user_data": ("user_data", lambda value: value),
    "accessIPv4": ("access_ip_v4", lambda value: value or None),
    "accessIPv6": ("access_ip_v6", lambda value: value or None),
}


class ServerRebuild:
    """The action ``rebuild``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __call__(self, call: Call, located: Located) -> Answer:
        """Write down what is to be done, tell the host, and show the server.

        :raises roost.exception.Invalid: for what cannot be had
        :raises roost.exception.Conflict: when that cannot be done to a server in its state
        :raises roost.exception.QuotaExceeded: when it may not have so much metadata
        """
        asked = call.body[_WORD]
        _refuse(asked)
        image = self._image(call, located.instance)
        changes = self._changes(call, located.instance) | {"task_image": image}
        task = states.REBUILDING
        instance = server_tasks.put_under(call, located, word=_WORD, task=task, changes=changes)
        secret = asked.get("adminPass") or password()
        server_tasks.do(call, located, instance, password=secret)
        return self._answer(call, instance, image, secret)

    def _image(self, call: Call, instance: Instance) -> ImageMeta:
        """Return the new image, which must fit where the server is."""
        image = server_image.usable(call, self._parts, call.body[_WORD]["imageRef"])
        check_fit(instance.flavor, image)
        aliases, flavor = self._parts.options.pci_aliases, instance.flavor
        before = instance.image and demands_of(flavor, instance.image, aliases)
        if before is not None and demands_of(flavor, image, aliases) != before:
            raise exception.Invalid(
                "The image asks for other NUMA cells or devices than the server has."
            )
        return image

    def _changes(self, call: Call, instance: Instance) -> dict[str, Any]:
        asked = call.body[_WORD]
        changes = {
            column: clean(asked[name]) for name, (column, clean) in _PLAIN.items() if name in asked
        }
        if asked.get("metadata"):
            self._check_metadata(asked["metadata"], instance)
        if "key_name" in asked:
            keypair = keypair_of(asked, call.context, self._parts.api_database)
            changes |= {"key_name": asked["key_name"], "keypair": keypair}
        return changes

    def _check_metadata(self, metadata: Mapping[str, str], instance: Instance) -> None:
        with self._parts.api_database.read() as session:
            limits = self._parts.options.quota
            most = metadata_limit.read(session, instance.project_id, defaults=limits)
        metadata_limit.check(metadata, most=most)

    def _answer(self, call: Call, instance: Instance, image: ImageMeta, secret: str) -> Answer:
        instance.image = image  # that it will have
        shown = views.Shown(instance=instance, groups=self._groups(call, str(instance.uuid)))
        told = {"adminPass": secret} if self._parts.options.instance_password else {}
        body = views.rebuilt(shown, looker(call)) | told
        location = f"{call.base_url}/v2.1/servers/{instance.uuid}"
        return Answer({"server": body}, headers={"Location": location})

    def _groups(self, call: Call, uuid: str) -> list[str]:
        if call.version < _GROUPS_SINCE:
            return []
        with self._parts.api_database.read() as session:
            return server_groups.list_of_instance(session, uuid)


def _refuse(asked: Mapping[str, Any]) -> None:
    """Raise :class:`roost.exception.Invalid` for the first thing that we could not honour."""
    if asked.get("personality"):
        raise exception.Invalid("personality is not supported: use user_data instead.")
    if asked.get("trusted_image_certificates"):
        raise exception.Invalid("trusted_image_certificates is not supported by this cloud.")
    if truth(str(asked.get("preserve_ephemeral", "")), name="preserve_ephemeral"):
        raise exception.Invalid("preserve_ephemeral is not supported by this cloud.")
