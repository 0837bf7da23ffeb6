"""Inventories and traits of hosts that operators write: files in OpenStack's documented format.

See "Managing Resource Providers Using Config Files" in the documentation of Nova, whose files these
are: schema version 1.x, a list of providers, each of which is a node or a part of one.
"""

import dataclasses
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

import jsonschema
import yaml
from oslo_config import cfg

from roost import exception
from roost.compute.collectors import Collected
from roost.objects import ResourceInventory, ResourceProvider
from roost.objects.host import uuid_of_node

THIS_NODE: Final = "$COMPUTE_NODE"
_NAMES: Final = "^CUSTOM_[A-Z0-9_]{1,248}$"
_COUNT: Final = {"type": "integer", "minimum": 0}
_ONE_OR_MORE: Final = {"type": "integer", "minimum": 1}


def _object(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": required,
        "properties": properties,
        "additionalProperties": False,
    }


_INVENTORY: Final = _object(
    ["total"],
    {
        "total": _COUNT,
        "reserved": _COUNT,
        "min_unit": _ONE_OR_MORE,
        "max_unit": _ONE_OR_MORE,
        "step_size": _ONE_OR_MORE,
        "allocation_ratio": {"type": "number", "exclusiveMinimum": 0},
    },
)
_BY_CLASS: Final = {
    "type": "object",
    "propertyNames": {"pattern": _NAMES},
    "additionalProperties": _INVENTORY,
    "minProperties": 1,
}
_TRAITS: Final = {"type": "array", "items": {"type": "string", "pattern": _NAMES}}
_TEXT: Final = {"type": "string", "minLength": 1}
_PROVIDER: Final = _object(
    ["identification"],
    {
        "identification": {
            **_object([], {"uuid": _TEXT, "name": _TEXT}),
            "minProperties": 1,
            "maxProperties": 1,
        },
        "inventories": _object([], {"additional": {"type": "array", "items": _BY_CLASS}}),
        "traits": _object([], {"additional": _TRAITS}),
    },
)
_FILE: Final = _object(
    ["meta", "providers"],
    {
        "meta": {
            "type": "object",
            "required": ["schema_version"],
            "properties": {"schema_version": {"type": "string", "pattern": r"^1\.[0-9]+$"}},
        },
        "providers": {"type": "array", "items": _PROVIDER},
    },
)


@dataclasses.dataclass(frozen=True)
class ProviderFiles:
    """The collector of what the files of ``[compute] provider_config_location`` add to a node."""

    folder: str
    host: str
    node: str
    interval: float = 60.0

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts, *, node: str) -> Self:
        """Make one, and read the files.

        :raises roost.exception.Invalid: for a file that is wrong
        """
        files = cls(conf.compute.provider_config_location, conf.host, node)
        files.collect()
        return files

    def collect(self) -> Collected:
        return read(self.folder, host=self.host, node=self.node)


def read(folder: str, *, host: str, node: str) -> Collected:
    """Read what the files of a folder add to a node; a folder that is not there adds nothing.

    :raises roost.exception.Invalid: with the file, the line and what is wrong there
    """
    found = {"": ResourceProvider.of(name="", inventories=[])}
    for path in sorted(pathlib.Path(folder).glob("*.yaml")):
        for provider in _providers(path):
            part = _part_of(provider["identification"], host, node)
            if part is not None:
                one = found.setdefault(part, ResourceProvider.of(name=part, inventories=[]))
                _add(one, path, provider, node=node)
    whole = found.pop("")
    return Collected(tuple(whole.inventories), tuple(whole.traits), additions=tuple(found.values()))


def _add(one: ResourceProvider, path: pathlib.Path, said: Mapping[str, Any], *, node: str) -> None:
    """Add to a provider what a file says of it."""
    for inventory in _inventories(path, said):
        name = inventory.resource_class
        if name in [each.resource_class for each in one.inventories]:
            of = f"{node}_{one.name}" if one.name else node
            raise exception.Invalid(f"{path}: {name} of {of} is defined before: name it once.")
        one.inventories.append(inventory)
    one.traits = sorted({*one.traits, *said.get("traits", {}).get("additional", ())})


def _providers(path: pathlib.Path) -> list[dict[str, Any]]:
    text = path.read_text()
    try:
        contents = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise exception.Invalid(f"{path}: {error}") from error
    validator = jsonschema.Draft202012Validator(_FILE)
    wrong = jsonschema.exceptions.best_match(validator.iter_errors(contents))
    if wrong is not None:
        line = _line(yaml.compose(text), wrong.absolute_path)
        raise exception.Invalid(f"{path}, line {line}: {wrong.message}")
    found: list[dict[str, Any]] = contents["providers"]
    return found


def _line(node: yaml.Node | None, keys: Sequence[str | int]) -> int:
    """Return the line of what the keys lead to, or of the last of them that is there."""
    line = 1
    for key in keys:
        if isinstance(node, yaml.SequenceNode):
            node = node.value[key]
        elif isinstance(node, yaml.MappingNode):
            node = next(value for name, value in node.value if name.value == key)
        line = node.start_mark.line + 1 if node is not None else line
    return line


def _part_of(identification: Mapping[str, str], host: str, node: str) -> str | None:
    """Return the name of the node's part that is meant, "" for the whole, None for other nodes."""
    name = identification.get("name", "")
    if name == node or identification.get("uuid") in (THIS_NODE, uuid_of_node(host, node)):
        return ""
    return name.removeprefix(f"{node}_") if name.startswith(f"{node}_") else None


def _inventories(path: pathlib.Path, provider: Mapping[str, Any]) -> Iterator[ResourceInventory]:
    for by_class in provider.get("inventories", {}).get("additional", ()):
        for name, values in by_class.items():
            one = ResourceInventory.of(
                resource_class=name, **{"max_unit": max(1, values["total"])} | values
            )
            if one.reserved > one.total:
                raise exception.Invalid(
                    f"{path}: {name} cannot have {one.reserved} of {one.total} reserved."
                )
            complaint = one.complaint()
            if complaint is not None:
                raise exception.Invalid(f"{path}: {complaint}.")
            yield one
