"""``--property key=value``, for flavors and images."""

from collections.abc import Iterable

import click

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
