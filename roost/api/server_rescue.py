"""Rescues: a server runs from another image, with its own disks beside; then as usual again."""

from typing import Any, Final

from roost import exception, states
from roost.api import server_image, server_tasks
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.server_demands import check_rescue_image
from roost.api.server_provisions import password
from roost.api.whereabouts import Located
from roost.objects import ImageMeta, Instance

_RESCUE: Final = "rescue"
_UNRESCUE: Final = "unrescue"


class ServerRescue:
    """The action ``rescue``."""

    def __init__(self, parts: Parts) -> None:
        self._parts = parts

    def __call__(self, call: Call, located: Located) -> Answer:
        """Write down what is to be done, tell the host, and say what password it gets.

        :raises roost.exception.Invalid: when there is no such image, or it cannot be had as it asks
        :raises roost.exception.Conflict: when that cannot be done to a server in its state
        """
        asked = call.body[_RESCUE] or {}
        changes = {"task_image": self._image(call, asked, located.instance)}
        task = states.RESCUING
        instance = server_tasks.put_under(call, located, word=_RESCUE, task=task, changes=changes)
        secret = asked.get("adminPass") or password()
        server_tasks.do(call, located, instance, password=secret)
        told = self._parts.options.instance_password
        return Answer({"adminPass": secret} if told else {}, status=200)

    def _image(self, call: Call, asked: dict[str, Any], instance: Instance) -> ImageMeta:
        """Return the image asked for, or else the server's own."""
        if asked.get("rescue_image_ref"):
            image = server_image.usable(call, self._parts, asked["rescue_image_ref"])
            check_rescue_image(instance.flavor, image, own=instance.image)
            return image
        if instance.image is None:
            raise exception.Invalid("The server has no image to be rescued with: name one.")
        own: ImageMeta = instance.image
        return own


def unrescue(call: Call, located: Located) -> Answer:
    """Write down that the server is to be started as usual, and tell the host."""
    instance = server_tasks.put_under(call, located, word=_UNRESCUE, task=states.UNRESCUING)
    server_tasks.do(call, located, instance)
    return Answer()
