"""Serializers of objects and contexts for the bus."""

from typing import Any, Final, Protocol

import oslo_messaging as messaging
from oslo_serialization import jsonutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import exception as ovo_exception

from roost import exception
from roost.callers import BUS_USER, Callers, Level
from roost.context import RequestContext
from roost.objects import base

# An upgrade begins with these levels. Arguments are deserialized before their caller is checked.
_MAY_BE_NEWER: Final = (Level.API, Level.CELL, Level.PEER)


class Backporter(Protocol):
    """Converts a newer object into the versions that this process supports."""

    def __call__(
        self, context: RequestContext, *, objinst: Any, versions: dict[str, str]
    ) -> Any: ...


class ObjectSerializer(ovo.VersionedObjectSerializer):
    """Sends objects as primitives; the backporter converts those that are too new for us."""

    OBJ_BASE_CLASS = base.RoostObject

    def __init__(self) -> None:
        super().__init__()
        self.backporter: Backporter | None = None

    def _process_object(self, context: Any, objprim: dict[str, Any]) -> Any:
        try:
            return self.OBJ_BASE_CLASS.obj_from_primitive(objprim, context=context)
        except ovo_exception.IncompatibleObjectVersion as error:
            if self.backporter is None or context.caller.level not in _MAY_BE_NEWER:
                raise exception.VersionTooOld(f"there is no backporter: {error}") from error
            name = objprim["roost_object.name"]
            versions = ovo.obj_tree_get_versions(name)
            return self.backporter(context, objinst=objprim, versions=versions)


class ContextSerializer(messaging.Serializer):  # type: ignore[misc]
    """Adds the context to the arguments and results that ``entities`` serializes.

    :param callers: identifies the sender of a message by its bus user
    """

    def __init__(self, entities: ObjectSerializer, callers: Callers | None = None) -> None:
        self.entities = entities
        self.callers = callers or Callers()

    def serialize_entity(self, ctxt: Any, entity: Any) -> Any:
        return self.entities.serialize_entity(ctxt, entity)

    def deserialize_entity(self, ctxt: Any, entity: Any) -> Any:
        return self.entities.deserialize_entity(ctxt, entity)

    def serialize_context(self, ctxt: RequestContext) -> dict[str, Any]:
        return ctxt.to_wire()

    def deserialize_context(self, ctxt: dict[str, Any]) -> RequestContext:
        context = RequestContext.from_dict(ctxt)
        context.caller = self.callers.identify(ctxt.get(BUS_USER))
        return context


class CopyingSerializer(ContextSerializer):
    """Copies messages on the in-process bus, which would pass the sender's own dicts.

    That bus authenticates no senders, so the sender adds its own user: all are in one process.
    """

    def serialize_entity(self, ctxt: Any, entity: Any) -> Any:
        return _through_json(super().serialize_entity(ctxt, entity))

    def serialize_context(self, ctxt: RequestContext) -> dict[str, Any]:
        copied: dict[str, Any] = _through_json(super().serialize_context(ctxt))
        return {**copied, BUS_USER: self.callers.own}


def _through_json(value: Any) -> Any:
    return jsonutils.loads(jsonutils.dumps(value))


def backported(objinst: base.RoostObject, versions: dict[str, str]) -> dict[str, Any]:
    """Return the primitive of an object in the versions that the caller supports.

    :param versions: object name -> version, for the object and all its children
    """
    older: dict[str, Any] = objinst.obj_to_primitive(
        target_version=versions[objinst.obj_name()], version_manifest=versions
    )
    return older
