"""The base class of all objects: oslo.versionedobjects' wire format, with faster conversion.

Stock conversion scans the list of all fields for every field, coerces parsed values twice, and
checks on each access whether a field is set. The methods below plan the fields of a class once and
skip values that already have their exact wire type. That trusts the peer's types, which is safe
only between our own daemons: JSON Schema validates users' input before it becomes an object.

``version_at`` derives versions from times: of two messages on one resource the later one counts.
"""

import copy
import datetime
import functools
import operator
from typing import Any, ClassVar, Final, NamedTuple, Self

from oslo_versionedobjects import base, fields
from oslo_versionedobjects.base import VersionedObjectRegistry

from roost import exception

__all__ = [
    "NOTHING",
    "DateTimeField",
    "DictOfAllocationsField",
    "DictOfDictsOfIntegersField",
    "DictOfFloatsField",
    "ListOfFloatsField",
    "RoostObject",
    "VersionedObjectRegistry",
]

# The maximum clock skew. A version in the future would win over all later updates.
_CLOCKS_DIFFER: Final = datetime.timedelta(hours=1)
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)


def version_at(time: datetime.datetime) -> int:
    """Return the microseconds from the epoch to a time."""
    return (time - _EPOCH) // datetime.timedelta(microseconds=1)


def check_is_past(version: int, now: datetime.datetime) -> None:
    """Refuse a version derived from a time in the future.

    :raises roost.exception.Invalid: when it is more than an hour ahead of ``now``
    """
    if version > version_at(now + _CLOCKS_DIFFER):
        raise exception.Invalid(
            f"the version {version} is in the future: here it is {version_at(now)}; compare clocks"
        )


# Field types for which a value of the exact wire type needs no conversion.
_IDENTITIES = {fields.String: str, fields.Integer: int, fields.Boolean: bool, fields.UUID: str}
NOTHING: Final[Any] = None  # a default of None, which the annotations of fields do not allow
_NO_DEFAULT: Final = fields.UnspecifiedDefault


class _Plan(NamedTuple):
    """How a field is converted; ``items``: the exact wire type of all that a list or dict holds."""

    name: str
    attribute: str
    field: Any
    identity: type | None
    nested: bool
    items: type | None


class IsoDateTime(fields.DateTime):
    """Times with zone and microseconds, as ISO 8601: what the standard library parses fastest."""

    def coerce(self, obj: Any, attr: str, value: Any) -> datetime.datetime:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value)
        if not isinstance(value, datetime.datetime):
            raise ValueError(f"{attr} must be a time, not {value!r}")  # noqa: TRY004
        return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)

    def from_primitive(self, obj: Any, attr: str, value: Any) -> datetime.datetime:
        return self.coerce(obj, attr, value)

    @staticmethod
    def to_primitive(obj: Any, attr: str, value: datetime.datetime) -> str:  # noqa: ARG004
        return value.isoformat()


class DateTimeField(fields.AutoTypedField[datetime.datetime]):
    """A field of :class:`IsoDateTime`."""

    AUTO_TYPE = IsoDateTime()


class DictOfFloatsField(fields.AutoTypedField[dict[str, float]]):
    """Numbers by name."""

    AUTO_TYPE = fields.Dict(fields.Float())


class ListOfFloatsField(fields.AutoTypedField[list[float]]):
    """Numbers in an order."""

    AUTO_TYPE = fields.List(fields.Float())


class DictOfDictsOfIntegersField(fields.AutoTypedField[dict[str, dict[str, int]]]):
    """Whole numbers by two names."""

    AUTO_TYPE = fields.Dict(fields.Dict(fields.Integer()))


class DictOfAllocationsField(fields.AutoTypedField[dict[str, dict[str, dict[str, int]]]]):
    """Allocations by consumer: whole numbers by three names."""

    AUTO_TYPE = fields.Dict(fields.Dict(fields.Dict(fields.Integer())))


class RoostObject(base.VersionedObject):
    """A versioned value. Two are equal when their set fields are.

    A field with a ``default`` gets it when :meth:`of` or the wire leaves it out, so messages and
    rows of older daemons can be read.
    """

    OBJ_SERIAL_NAMESPACE = "roost_object"
    OBJ_PROJECT_NAMESPACE = "roost"
    _planned_fields: ClassVar[list[_Plan]]

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.values() == other.values()

    __hash__ = None  # type: ignore[assignment]

    def values(self) -> dict[str, Any]:
        """Return the set fields by name."""
        attributes = self.__dict__
        return {p.name: attributes[p.attribute] for p in self._plan() if p.attribute in attributes}

    @classmethod
    def of(cls, **values: Any) -> Self:
        """Make an object that counts as unchanged, as read from a database.

        Values of the exact wire type are taken as they are; all others are coerced.
        """
        made = cls()
        for planned in cls._plan():
            if planned.name in values:
                value = values.pop(planned.name)
                nothing = value is None and planned.field.nullable
                if type(value) is not planned.identity and not nothing:
                    value = planned.field.coerce(made, planned.name, value)
                if planned.nested:
                    _reset(value)
                made.__dict__[planned.attribute] = value
            elif planned.field.default is not _NO_DEFAULT:
                made.__dict__[planned.attribute] = copy.copy(planned.field.default)
        if values:
            raise AttributeError(f"{cls.obj_name()} has no fields {', '.join(values)}")
        return made

    @classmethod
    def as_stored(cls, **values: Any) -> Self:
        """Make an object as :meth:`of` does, of values that have their fields' types already.

        Nothing is checked or coerced, and no default is set: for rows, which lists read by the
        hundred.
        """
        made = cls()
        attributes, names = made.__dict__, cls._attributes()
        for name, value in values.items():
            attributes[names[name]] = value
        return made

    @classmethod
    @functools.cache
    def _attributes(cls) -> dict[str, str]:
        """Return by field under which name its value is kept."""
        return {planned.name: planned.attribute for planned in cls._plan()}

    def __getattr__(self, name: str) -> Any:
        """Raise as stock does for a field that is not set; called after a property failed, too."""
        if name in type(self).fields:
            return self.obj_load_attr(name)
        raise AttributeError(f"{self.obj_name()} object has no attribute '{name}'")

    def obj_attr_is_set(self, attrname: str) -> bool:
        if "_obj_" + attrname in self.__dict__:
            return True
        if attrname not in self.fields and attrname not in self.obj_extra_fields:
            raise AttributeError(f"{self.obj_name()} object has no attribute '{attrname}'")
        return False

    @classmethod
    def _plan(cls) -> list[_Plan]:
        plan: list[_Plan] | None = cls.__dict__.get("_planned_fields")
        if plan is None:
            plan = [_planned(name, field) for name, field in cls.fields.items()]
            cls._planned_fields = plan
            for planned in plan:
                _read_at_once(cls, planned)
        return plan

    def obj_what_changed(self) -> set[str]:
        changed = {name for name in self._changed_fields if name in self.fields}
        for planned in self._plan():
            value = self.__dict__.get(planned.attribute) if planned.nested else None
            if isinstance(value, base.VersionedObject) and value.obj_what_changed():
                changed.add(planned.name)
        return changed

    def obj_to_primitive(
        self, target_version: str | None = None, version_manifest: dict[str, str] | None = None
    ) -> dict[str, Any]:
        if version_manifest or target_version not in (None, self.VERSION):
            return super().obj_to_primitive(target_version, version_manifest)
        data = self._data()
        key = self._obj_primitive_key
        primitive = {
            key("name"): self.obj_name(),
            key("namespace"): self.OBJ_PROJECT_NAMESPACE,
            key("version"): self.VERSION,
            key("data"): data,
        }
        changes = [name for name in self.obj_what_changed() if name in data]
        if changes:
            primitive[key("changes")] = sorted(changes)
        return primitive

    def _data(self) -> dict[str, Any]:
        data = {}
        for planned in self._plan():
            if planned.attribute not in self.__dict__:
                continue
            value = self.__dict__[planned.attribute]
            if value is not None and type(value) is not planned.identity:
                value = planned.field.to_primitive(self, planned.name, value)
            data[planned.name] = value
        return data

    @classmethod
    def obj_from_primitive(cls, primitive: dict[str, Any], context: Any = None) -> Self:
        """Make the object of a primitive; one of this release's version takes the short way."""
        newest: Any = VersionedObjectRegistry.obj_classes().get(primitive.get(_NAME, ""), [None])[0]
        if newest is None or primitive.get(_VERSION) != newest.VERSION:
            return super().obj_from_primitive(primitive, context)
        found: Self = newest._obj_from_primitive(context, newest.VERSION, primitive)  # noqa: SLF001
        return found

    @classmethod
    def _obj_from_primitive(cls, context: Any, objver: str, primitive: dict[str, Any]) -> Self:
        self = cls(context)
        self.VERSION = objver
        data = primitive[_DATA]
        attributes = self.__dict__
        for planned in cls._plan():
            name, attribute, field, identity, _nested, _items = planned
            if name in data:
                value = data[name]
                if type(value) is not identity and not (value is None and field.nullable):
                    value = _parsed(self, planned, value)
                attributes[attribute] = value
            elif field.default is not _NO_DEFAULT:
                attributes[attribute] = copy.copy(field.default)
        if _CHANGES in primitive:
            self._changed_fields = {name for name in primitive[_CHANGES] if name in cls.fields}
        return self


_NAME, _VERSION, _DATA, _CHANGES = (
    f"{RoostObject.OBJ_SERIAL_NAMESPACE}.{part}" for part in ("name", "version", "data", "changes")
)


def _reset(value: Any) -> None:
    """Mark an object, or each of a list, as unchanged."""
    for held in value if isinstance(value, list) else [value]:
        if held is not None and held.obj_what_changed():
            held.obj_reset_changes(recursive=True)


def _planned(name: str, field: Any) -> _Plan:
    nested = isinstance(field, fields.ObjectField | fields.ListOfObjectsField)
    kind, items = field._type, None  # noqa: SLF001
    if isinstance(kind, fields.List | fields.Dict):
        items = _IDENTITIES.get(type(kind._element_type._type))  # noqa: SLF001
    return _Plan(name, "_obj_" + name, field, _IDENTITIES.get(type(kind)), nested, items)


def _read_at_once(cls: type[RoostObject], planned: _Plan) -> None:
    """Make reading a field one lookup: stock checks first whether it is set."""
    stock = getattr(cls, planned.name)
    read = operator.attrgetter(planned.attribute)
    setattr(cls, planned.name, property(read, stock.fset, stock.fdel))


def _parsed(obj: RoostObject, planned: _Plan, value: Any) -> Any:
    """Convert a value that is not of its field's exact wire type."""
    if planned.nested:
        if type(value) is list:
            return [RoostObject.obj_from_primitive(each) for each in value]
        return RoostObject.obj_from_primitive(value)
    if _is_plain(value, planned.items):
        return value
    return planned.field.coerce(
        obj, planned.name, planned.field.from_primitive(obj, planned.name, value)
    )


def _is_plain(value: Any, items: type | None) -> bool:
    """Return whether a list or a dict is empty, or holds only values of exactly this type."""
    held = value.values() if type(value) is dict else value if type(value) is list else None
    return held is not None and all(type(each) is items for each in held)
