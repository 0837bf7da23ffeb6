"""Turns objects and contexts into what the bus carries, and back."""

from typing import Any, Final, Protocol

import oslo_messaging as messaging
from oslo_serialization import jsonutils
from oslo_versionedobjects import base as ovo
from oslo_versionedobjects import exception as ovo_exception

from roost import exception
from roost.callers import BUS_USER, Callers, Level
from roost.context import RequestContext
from roost.objects import base

# An upgrade begins with these. Arguments are read before it is known whether their sender may call.
_MAY_BE_NEWER: Final = (Level.API, Level.CELL, Level.PEER)


class Backporter(Protocol):
    """Whoever knows newer objects and can turn one into the versions that we know."""

    def __call__(
        self, context: RequestContext, *, objinst: Any, versions: dict[str, str]
    ) -> Any: ...


class ObjectSerializer(ovo.VersionedObjectSerializer):
    """Objects travel as their primitives; one newer than we know is sent to the backporter."""

    OBJ_BASE_CLASS = base.RoostObject

    def __init__(self) -> None:
        super().__init__()
        self.backporter: Backporter | None = None

    def _process_object(self, context: Any, objprim: dict[str, Any]) -> Any:
        try:
            return self.OBJ_BASE_CLASS.obj_from_primitive(objprim, context=context)
        except ovo_exception.IncompatibleObjectVersion as error:
            if self.backporter is None or context.caller.level not in _MAY_BE_NEWER:
                raise exception.VersionTooOld(f"nobody here can backport: {error}") from error
            name = objprim["roost_object.name"]
            versions = ovo.obj_tree_get_versions(name)
            return self.backporter(context, objinst=objprim, versions=versions)


class ContextSerializer(messaging.Serializer):  # type: ignore[misc]
    """Carries our context beside what ``entities`` makes of arguments and results.

    :param callers: tells by the user of the bus who has sent what came
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
    """For the in-process bus, which hands over the sender's own dicts: makes it a real wire.

    That bus vouches for nobody, so the sender says who it is: all are in one process anyway.
    """

    def serialize_entity(self, ctxt: Any, entity: Any) -> Any:
        return _through_json(super().serialize_entity(ctxt, entity))

    def serialize_context(self, ctxt: RequestContext) -> dict[str, Any]:
        copied: dict[str, Any] = _through_json(super().serialize_context(ctxt))
        return {**copied, BUS_USER: self.callers.own}


def _through_json(value: Any) -> Any:
    return jsonutils.loads(jsonutils.dumps(value))


def backported(objinst: base.RoostObject, versions: dict[str, str]) -> dict[str, Any]:
    """Return the primitive of an object at the versions that the asker knows.

    :param versions: object name -> version, for the object and all that it holds
    """
    older: dict[str, Any] = objinst.obj_to_primitive(
        target_version=versions[objinst.obj_name()], version_manifest=versions
    )
    return older
