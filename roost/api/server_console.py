"""What a server has written to its console: asked of its host, which has a bounded time to tell."""

import re
from typing import Any, Final

from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.server_hosts import ServerHosts, heard
from roost.api.whereabouts import Located

_CONTROL: Final = re.compile(r"[\x00-\x08\x0b-\x1f]")


class ConsoleLog:
    """The action ``os-getConsoleOutput``."""

    def __init__(self, parts: Parts) -> None:
        self._hosts = ServerHosts(parts)

    def __call__(self, call: Call, located: Located) -> Answer:
        """Show the last lines, without what terminals would take for orders.

        :raises roost.exception.Conflict: when the server is on no host
        :raises roost.exception.NotFound: when it has no console
        :raises roost.exception.Unsupported: when its hypervisor keeps none
        :raises roost.exception.Timeout: when its host does not answer
        """
        with heard(call, located.instance):
            text = self._hosts.of(located).get_console_output(
                call.context,
                instance_uuid=located.instance.uuid,
                lines=_lines(call.body["os-getConsoleOutput"].get("length")),
            )
        return Answer({"output": _CONTROL.sub("", text)}, status=200)


def _lines(length: Any) -> int | None:
    if length is None or int(length) < 0:
        return None
    return int(length)
