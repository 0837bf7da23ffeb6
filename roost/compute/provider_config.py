"""Inventories and traits of hosts that operators write: files in OpenStack's documented format.

See "Managing Resource Providers Using Config Files" in the documentation of Nova, whose
``provider.yaml`` these are: schema version 1.x, a list of providers, each of which is a node or a
part of one. Keys that Nova's schema lets pass are let pass.
"""

import dataclasses
import logging
import pathlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, Self

import jsonschema
import yaml
from oslo_config import cfg

from roost import exception
from roost.compute.collectors import Collected
from roost.objects import ResourceInventory, ResourceProvider
from roost.objects.bounds import MOST
from roost.objects.host import uuid_of_node

LOG = logging.getLogger(__name__)
THIS_NODE: Final = "$COMPUTE_NODE"
_UUID: Final = r"^\$COMPUTE_NODE$|^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
_NAMES: Final = "^CUSTOM_[A-Z0-9_]{1,248}$"
_COUNT: Final = {"type": "integer", "minimum": 0, "maximum": MOST}
_ONE_OR_MORE: Final = {"type": "integer", "minimum": 1, "maximum": MOST}
_MOST_RATIO: Final = 3.40282e38  # as in Placement


def _closed(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {**_open(required, properties), "additionalProperties": False}


def _open(required: list[str], properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "required": required, "properties": properties}


_INVENTORY: Final = _closed(
    ["total"],
    {
        "total": _COUNT,
        "reserved": _COUNT,
        "min_unit": _ONE_OR_MORE,
        "max_unit": _ONE_OR_MORE,
        "step_size": _ONE_OR_MORE,
        "allocation_ratio": {"type": "number", "exclusiveMinimum": 0, "maximum": _MOST_RATIO},
    },
)
_BY_CLASS: Final = {
    "type": "object",
    "propertyNames": {"pattern": _NAMES},
    "additionalProperties": _INVENTORY,
}
_TRAITS: Final = {"type": "array", "items": {"type": "string", "pattern": _NAMES}}
_IDENTIFICATION: Final = {
    **_closed(
        [],
        {
            "uuid": {"type": "string", "pattern": _UUID},
            "name": {"type": "string", "minLength": 1},
        },
    ),
    "minProperties": 1,
    "maxProperties": 1,
}
_PROVIDER: Final = _open(
    ["identification"],
    {
        "identification": _IDENTIFICATION,
        "inventories": _open([], {"additional": {"type": "array", "items": _BY_CLASS}}),
        "traits": _open([], {"additional": _TRAITS}),
    },
)
_VERSION: Final = {"schema_version": {"type": "string", "pattern": r"^1\.[0-9]+$"}}
_FILE: Final = _open(
    ["meta"],
    {
        "meta": _open(["schema_version"], _VERSION),
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
        for entry in _entries(files.folder):
            if not entry.adds:
                LOG.warning("%s has no additional inventories or traits", entry)
        return files

    def collect(self) -> Collected:
        return read(self.folder, host=self.host, node=self.node)


def read(folder: str, *, host: str, node: str) -> Collected:
    """Read what the files of a folder add to a node; a folder that is not there adds nothing.

    :raises roost.exception.Invalid: with the file, the line and what is wrong there
    """
    entries = _by_provider(folder, uuid_of_node(host, node), node)
    whole = entries.get(node) or entries.get(THIS_NODE)
    own = _added_by(whole, "") if whole else ResourceProvider.of(name="", inventories=[])
    prefix = f"{node}_"
    parts = [
        _added_by(entry, name.removeprefix(prefix))
        for name, entry in entries.items()
        if name.startswith(prefix)
    ]
    return Collected(tuple(own.inventories), tuple(own.traits), additions=tuple(parts))


@dataclasses.dataclass(frozen=True)
class _Entry:
    """What a file says of a provider, and where: ``yaml`` is the file's tree, for lines."""

    path: pathlib.Path
    yaml: yaml.Node | None
    number: int
    said: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self._at()}: {self.identity}"

    @property
    def identity(self) -> str:
        """The uuid or the name, whichever it has."""
        (identity,) = self.said["identification"].values()
        return str(identity)

    @property
    def inventories(self) -> Sequence[Mapping[str, Any]]:
        found: Sequence[Mapping[str, Any]] = self.said.get("inventories", {}).get("additional", ())
        return found

    @property
    def traits(self) -> Sequence[str]:
        found: Sequence[str] = self.said.get("traits", {}).get("additional", ())
        return found

    @property
    def adds(self) -> bool:
        return bool(self.inventories or self.traits)

    def wrong(self, number: int, name: str, complaint: str) -> exception.Invalid:
        """Return the error of the inventory of a class."""
        return exception.Invalid(
            f"{self._at('inventories', 'additional', number, name)}: {complaint}"
        )

    def _at(self, *keys: str | int) -> str:
        return f"{self.path}, line {_line(self.yaml, ['providers', self.number, *keys])}"


def _by_provider(folder: str, node_uuid: str, node: str) -> dict[str, _Entry]:
    """Return the entries that add something, by the names of their providers.

    :raises roost.exception.Invalid: for a provider that has several
    """
    found: dict[str, _Entry] = {}
    for entry in _entries(folder):
        name = node if entry.identity.lower() == node_uuid else entry.identity
        if entry.adds and found.setdefault(name, entry) is not entry:
            raise exception.Invalid(f"{entry} has an entry before, in {found[name]}: merge them.")
    return found


def _entries(folder: str) -> Iterator[_Entry]:
    for path in sorted(pathlib.Path(folder).glob("*.yaml")):
        contents, tree = _contents(path)
        for number, said in enumerate(contents.get("providers", ())):
            yield _Entry(path, tree, number, said)


def _contents(path: pathlib.Path) -> tuple[dict[str, Any], yaml.Node | None]:
    try:
        text = path.read_text()
        contents, tree = yaml.safe_load(text), yaml.compose(text, yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise exception.Invalid(f"{path}: {error}") from error
    validator = jsonschema.Draft202012Validator(_FILE)
    wrong = jsonschema.exceptions.best_match(validator.iter_errors(contents))
    if wrong is not None:
        line = _line(tree, wrong.absolute_path)
        raise exception.Invalid(f"{path}, line {line}: {wrong.message}")
    return contents, tree


def _line(node: yaml.Node | None, keys: Sequence[str | int]) -> int:
    """Return the line of what the keys lead to, or of the last of them that is there."""
    line = 1
    for key in keys:
        if isinstance(node, yaml.SequenceNode):
            node = node.value[key]
        elif isinstance(node, yaml.MappingNode):
            node = next((value for name, value in node.value if name.value == key), None)
        line = node.start_mark.line + 1 if node is not None else line
    return line


def _added_by(entry: _Entry, name: str) -> ResourceProvider:
    """Return the provider of a name, with what an entry adds to it."""
    found: dict[str, ResourceInventory] = {}
    for number, by_class in enumerate(entry.inventories):
        for resource_class, values in by_class.items():
            one = _inventory(resource_class, values)
            complaint = _complaint(one)
            if resource_class in found:
                complaint = f"{resource_class} is defined before: name it once"
            if complaint is not None:
                raise entry.wrong(number, resource_class, f"{complaint}.")
            found[resource_class] = one
    traits = sorted(set(entry.traits))
    return ResourceProvider.of(name=name, inventories=list(found.values()), traits=traits)


def _inventory(resource_class: str, values: Mapping[str, Any]) -> ResourceInventory:
    every = {"max_unit": max(1, values["total"]), **values}
    return ResourceInventory.of(resource_class=resource_class, **every)


def _complaint(one: ResourceInventory) -> str | None:
    if one.reserved > one.total:
        return f"{one.resource_class} cannot have {one.reserved} of {one.total} reserved"
    return one.complaint()
