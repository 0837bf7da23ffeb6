"""Servers' metadata: words that users keep with a server, by key."""

from collections.abc import Mapping
from typing import Final

from roost import exception
from roost.api import metadata_limit, server_locks
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.server_notes import Edited, change
from roost.api.whereabouts import Located, Whereabouts
from roost.db.cell import notes
from roost.objects import Instance

Metadata = Mapping[str, str]
_UPDATE: Final = "update metadata"
_DELETE: Final = "delete metadata"


class ServerMetadata:
    """Handlers of ``/servers/{id}/metadata``."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database
        self._limits = parts.options.quota
        self._whereabouts = Whereabouts(parts.api_database, parts.cells)

    def list_all(self, call: Call) -> Answer:
        return Answer({"metadata": dict(self._find(call).instance.metadata)})

    def show(self, call: Call) -> Answer:
        metadata, key = self._find(call).instance.metadata, call.params["key"]
        if key not in metadata:
            raise _no_item()
        return Answer({"meta": {key: metadata[key]}})

    def merge(self, call: Call) -> Answer:
        """Add items, or change those that there are; others stay."""
        return Answer({"metadata": self._write(call, call.body["metadata"], keep=True).value})

    def replace(self, call: Call) -> Answer:
        return Answer({"metadata": self._write(call, call.body["metadata"], keep=False).value})

    def update(self, call: Call) -> Answer:
        if call.params["key"] not in call.body["meta"]:
            raise exception.Invalid("Request body and URI mismatch")
        self._write(call, call.body["meta"], keep=True)
        return Answer({"meta": call.body["meta"]})

    def delete(self, call: Call) -> Answer:
        key = call.params["key"]
        located = self._find(call)
        server_locks.refuse(call, located.instance)
        _without(key, located.instance.metadata, gone=False)  # that is told before its state is

        def edit(before: Metadata, again: bool) -> Metadata:
            return _without(key, before, gone=again)

        change(located, notes.METADATA, edit, doing=_DELETE)
        return Answer()

    def _find(self, call: Call) -> Located:
        return self._whereabouts.find(call, call.params["server_id"])

    def _write(self, call: Call, asked: Metadata, *, keep: bool) -> Edited:
        """Write what is asked for; ``keep`` what there is besides."""
        located = self._find(call)
        server_locks.refuse(call, located.instance)
        most = self._most(located.instance)

        def edit(before: Metadata, _again: bool) -> Metadata:
            after = {**before, **asked} if keep else dict(asked)
            metadata_limit.check(after, most=most)
            return after

        return change(located, notes.METADATA, edit, doing=_UPDATE)

    def _most(self, instance: Instance) -> int:
        with self._database.read() as session:
            return metadata_limit.read(session, instance, defaults=self._limits)


def _without(key: str, metadata: Metadata, *, gone: bool) -> Metadata:
    """Leave an item out; ``gone``: it may be so already."""
    if key not in metadata and not gone:
        raise _no_item()
    return {name: value for name, value in metadata.items() if name != key}


def _no_item() -> exception.NotFound:
    return exception.NotFound("Metadata item was not found")
