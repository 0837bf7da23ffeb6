"""Tags of networks, subnets and ports: words that their users find them by."""

from typing import Any, Final, Protocol

from roost import exception
from roost.api.call import Answer, Call
from roost.api.networks import Networks, Subnets
from roost.api.parts import Parts
from roost.api.ports import Ports
from roost.api.schemas.networks import MOST_TAGS, TAG_CHECK
from roost.db.api import network_tags as rows
from roost.db.engine import retried


class _Noun(Protocol):
    """What has tags: handlers of networks, subnets or ports."""

    def tags(self, call: Call) -> list[str]:
        """Return the tags of what the path names, if the caller may see it."""

    def tagged(self, call: Call) -> str:
        """Return the id of the row that they are in, if the caller may change them."""


_COLUMNS: Final = {
    "network_id": rows.OF_NETWORKS,
    "subnet_id": rows.OF_SUBNETS,
    "port_id": rows.OF_PORTS,
}


class NetworkTags:
    """Handlers of ``/network/v2.0/{networks|subnets|ports}/{id}/tags``."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._nouns: dict[str, _Noun] = {
            "network_id": Networks(parts),
            "subnet_id": Subnets(parts),
            "port_id": Ports(parts),
        }

    def list_all(self, call: Call) -> Answer:
        return Answer({"tags": self._nouns[_kind(call)].tags(call)})

    def show(self, call: Call) -> Answer:
        _check_there(call, self._nouns[_kind(call)].tags(call))
        return Answer()

    def replace(self, call: Call) -> Answer:
        return Answer({"tags": self._edit(call, lambda _: call.body["tags"])})

    def clear(self, call: Call) -> Answer:
        self._edit(call, lambda _: [])
        return Answer()

    def add(self, call: Call) -> Answer:
        TAG_CHECK.check(call.params["tag"], minor=1, what="tag")
        self._edit(call, lambda tags: [*tags, call.params["tag"]])
        return Answer()

    def remove(self, call: Call) -> Answer:
        def without(tags: Any) -> list[str]:
            _check_there(call, tags)
            return [tag for tag in tags if tag != call.params["tag"]]

        self._edit(call, without)
        return Answer()

    def _edit(self, call: Call, change: rows.Edit) -> list[str]:
        def bounded(tags: Any) -> Any:
            after = set(change(tags))
            if len(after) > MOST_TAGS:
                raise exception.Invalid(f"There are {MOST_TAGS} tags at most.")
            return after

        return self._write(_COLUMNS[_kind(call)], self._nouns[_kind(call)].tagged(call), bounded)

    @retried
    def _write(self, column: Any, row_id: str, change: rows.Edit) -> list[str]:
        with self._database.begin() as session:
            return rows.edit(session, column, row_id, change)


def _kind(call: Call) -> str:
    return next(name for name in _COLUMNS if name in call.params)


def _check_there(call: Call, tags: Any) -> None:
    if call.params["tag"] not in tags:
        raise exception.NotFound(f"Tag {call.params['tag']} could not be found.")
