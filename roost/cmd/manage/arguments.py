"""Arguments that several commands take: names, hosts, and ``--property key=value``."""

import re
from collections.abc import Iterable
from typing import Final

import click

from roost.api.validation import NAME

_CELL: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")  # also part of a unit's name
_VISIBLE: Final = re.compile(str(NAME["pattern"]))
_LONGEST: Final = 255


def cell_name(_context: click.Context, _option: click.Parameter, value: str | None) -> str | None:
    """Return a cell's name if it is valid.

    :raises click.BadParameter: when it is not
    """
    if value is not None and not _CELL.fullmatch(value):
        raise click.BadParameter(
            f"{value!r} must begin with a letter or digit and go on with these, '.', '_' or '-'"
        )
    return value


def visible_name(_context: click.Context, _option: click.Parameter, value: str) -> str:
    """Return a name if it is visible.

    :raises click.BadParameter: when it is blank, too long, or has control characters
    """
    if len(value) > _LONGEST or not _VISIBLE.fullmatch(value):
        raise click.BadParameter(
            f"{value[:_LONGEST]!r} must have 1 to {_LONGEST} characters, not only blanks"
        )
    return value.strip()


def host_and_node(host: str, node: str) -> str:
    """Return the name of a node in a table: most hosts have one node of the same name."""
    return host if host == node else f"{host} ({node})"


properties_option = click.option(
    "--property",
    "properties",
    metavar="KEY=VALUE",
    multiple=True,
    help="A property; may be repeated.",
)


def to_mapping(properties: Iterable[str]) -> dict[str, str]:
    """Return keys and values.

    :raises click.BadParameter: for one that has no key or no equals sign
    """
    found = {}
    for entry in properties:
        key, equals, value = entry.partition("=")
        if not (key and equals):
            raise click.BadParameter(f"{entry!r} must read KEY=VALUE", param_hint="--property")
        found[key] = value
    return found
