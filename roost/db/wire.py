"""Serializes objects for text columns: their versioned primitives as JSON."""

import functools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, TypeVar

import orjson

from roost.objects.base import RoostObject

T = TypeVar("T", bound=RoostObject)
_CHANGES: Final = f'"{RoostObject.OBJ_SERIAL_NAMESPACE}.changes"'
_EMPTY: Final[Mapping[str, Callable[[], Any]]] = {"[]": list, "{}": dict}


def dump(value: RoostObject | None) -> str | None:
    """Return the JSON text of an object."""
    return None if value is None else _text(value.obj_to_primitive())


def dump_list(values: Iterable[RoostObject]) -> str:
    return _text([value.obj_to_primitive() for value in values])


def load(text: str | None) -> Any:
    """Return the stored object, without changes marked."""
    return None if text is None else _object(orjson.loads(text), marked=_CHANGES in text)


@functools.lru_cache(maxsize=1024)
def load_shared(text: str | None) -> Any:
    """Return the stored object; the same text gives the same object.

    For values that many rows repeat, such as flavors. Callers must not change it.
    """
    return load(text)


def load_list(text: str) -> list[Any]:
    marked = _CHANGES in text
    return [_object(each, marked=marked) for each in load_plain(text)]


def load_plain(text: str) -> Any:
    """Return a stored list or dictionary, which in most rows is empty."""
    empty = _EMPTY.get(text)
    return orjson.loads(text) if empty is None else empty()


def _text(value: Any) -> str:
    return orjson.dumps(value).decode()


def _object(primitive: dict[str, Any], *, marked: bool) -> Any:
    found = RoostObject.obj_from_primitive(primitive)
    if marked:
        found.obj_reset_changes(recursive=True)
    return found
