"""Stopping, starting, rebooting, pausing and suspending servers.

The row is changed first: it says what is to be done, and who loses a race sees it. Then its host is
told, by a hint; a lost one is sent again by the sweeper.
"""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, Final

from roost import states
from roost.api import server_tasks
from roost.api.call import Answer, Call
from roost.api.whereabouts import Located


def _reboot(asked: Any) -> str:
    return states.REBOOTING_HARD if asked["type"].upper() == "HARD" else states.REBOOTING


def _always(task: str) -> Callable[[Any], str]:
    return lambda _asked: task


@dataclasses.dataclass(frozen=True)
class PowerAction:
    """An action as records and messages call it, and the task that its arguments come to."""

    word: str
    task_of: Callable[[Any], str]

    def __call__(self, call: Call, located: Located) -> Answer:
        """Write down what is to be done, then tell the host.

        :raises roost.exception.Conflict: when that cannot be done to a server in its state
        """
        (asked,) = call.body.values()
        _change(call, located, word=self.word, task=self.task_of(asked))
        return Answer()


ACTIONS: Final[Mapping[str, PowerAction]] = {
    "os-start": PowerAction("start", _always(states.POWERING_ON)),
    "os-stop": PowerAction("stop", _always(states.POWERING_OFF)),
    "reboot": PowerAction("reboot", _reboot),
    "pause": PowerAction("pause", _always(states.PAUSING)),
    "unpause": PowerAction("unpause", _always(states.UNPAUSING)),
    "suspend": PowerAction("suspend", _always(states.SUSPENDING)),
    "resume": PowerAction("resume", _always(states.RESUMING)),
}


def _change(call: Call, located: Located, *, word: str, task: str) -> None:
    instance = server_tasks.put_under(call, located, word=word, task=task)
    uuid = str(instance.uuid)
    server_tasks.tell(
        located,
        instance,
        lambda host: host.change_power(call.context, instance_uuid=uuid, task=task),
    )
