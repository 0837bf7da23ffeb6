"""A conductor of this release, a compute of the one before: two versions of one object."""

import contextlib

import pytest
from oslo_versionedobjects import fields
from oslo_versionedobjects.base import VersionedObjectRegistry

from roost import conf, exception
from roost.callers import Callers
from roost.context import admin_context
from roost.objects.base import RoostObject
from roost.rpc import interface
from roost.rpc.serializer import ObjectSerializer, backported
from roost.rpc.transport import Bus


class Old(RoostObject):
    VERSION = "1.0"
    fields = {"name": fields.StringField()}

    @classmethod
    def obj_name(cls):
        return "Crate"


class New(RoostObject):
    VERSION = "1.1"
    fields = {"name": fields.StringField(), "colour": fields.StringField()}

    @classmethod
    def obj_name(cls):
        return "Crate"

    def obj_make_compatible(self, primitive, target_version):
        super().obj_make_compatible(primitive, target_version)
        if target_version == "1.0":
            primitive.pop("colour", None)


@contextlib.contextmanager
def release(cls):
    """The world as a process of one release knows it."""
    known = VersionedObjectRegistry.obj_classes()
    before = known.get("Crate")
    for name, field in cls.fields.items():
        setattr(cls, name, property(*_accessors(name, field)))
    known["Crate"] = [cls]
    try:
        yield
    finally:
        known.pop("Crate") if before is None else known.update({"Crate": before})


def _accessors(name, field):
    def get(self):
        return self.__dict__["_obj_" + name]

    def put(self, value):
        self.__dict__["_obj_" + name] = field.coerce(self, name, value)
        self._changed_fields.add(name)

    return get, put


def new_crate():
    with release(New):
        return New(name="a", colour="red").obj_to_primitive()


def conductor(context, *, objinst, versions):
    """What a conductor of the newer release answers, up to the wire."""
    with release(New):
        return backported(New.obj_from_primitive(objinst), versions)


def test_a_newer_object_is_backported_by_the_conductor():
    serializer = ObjectSerializer()
    serializer.backporter = lambda context, **asked: Old.obj_from_primitive(
        conductor(context, **asked)
    )
    with release(Old):
        got = serializer.deserialize_entity(admin_context(), new_crate())
    assert (got.VERSION, got.name) == ("1.0", "a")
    assert not hasattr(got, "colour")


def test_without_a_conductor_a_newer_object_is_refused_by_name():
    with release(Old), pytest.raises(exception.VersionTooOld, match="Crate"):
        ObjectSerializer().deserialize_entity(admin_context(), new_crate())


def test_for_another_host_no_conductor_is_asked():
    serializer = ObjectSerializer()
    serializer.backporter = lambda context, **asked: pytest.fail("it is asked")
    context = admin_context()
    context.caller = Callers("cell1~h1").identify("cell1~h2")
    with release(Old), pytest.raises(exception.VersionTooOld, match="Crate"):
        serializer.deserialize_entity(context, new_crate())


class Depot(interface.Interface):
    topic = "depot"
    version = "1.0"

    @interface.call(since="1.0", timeout=10)
    def send(self, context, *, crate) -> str: ...


class Conductor(interface.Interface):
    topic = "conductor"
    version = "1.0"

    @interface.call(since="1.0", timeout=10)
    def object_backport(self, context, *, objinst, versions) -> dict: ...


class OldHost:
    def send(self, context, *, crate):
        return f"{crate.name} at {crate.VERSION}"


class NewConductor:
    def object_backport(self, context, *, objinst, versions):
        with release(New):
            return backported(objinst, versions)


class NewSerializer(ObjectSerializer):
    """Hydrates what arrives as the newer release does."""

    def deserialize_entity(self, context, entity):
        with release(New):
            return super().deserialize_entity(context, entity)


def test_over_the_bus_an_old_host_understands_a_newer_conductor():
    host_bus, conductor_bus = Bus(conf.of({}), "fake://old/"), Bus(conf.of({}), "fake://old/")
    conductor_bus.serializer.entities = NewSerializer()
    host_bus.objects.backporter = Conductor(host_bus).object_backport
    servers = [
        host_bus.server(Depot, OldHost(), "h1"),
        conductor_bus.server(Conductor, NewConductor(), "c1"),
    ]
    with release(New):
        crate = New(name="a", colour="red")
    try:
        for server in servers:
            server.start()
        with release(Old):
            assert Depot(host_bus).send(admin_context(), crate=crate) == "a at 1.0"
    finally:
        for server in servers:
            server.stop()
        for server in servers:
            server.wait()
