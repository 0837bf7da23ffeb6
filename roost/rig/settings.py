"""What people say of a rig on the command line: options by their names, inventories by a file."""

import difflib
import json
import pathlib
from collections.abc import Iterator, Sequence
from importlib import metadata
from typing import Any, Final

import roost.conf
from roost import exception
from roost.compute.virt.fake import inventory

# Whose options the daemons read beside their own: as in etc/oslo-config-generator.conf.
LIBRARIES: Final = (
    "cotyledon",
    "keystonemiddleware.auth_token",
    "oslo.log",
    "oslo.messaging",
    "oslo.middleware.cors",
    "oslo.middleware.healthcheck",
    "oslo.middleware.http_proxy_to_wsgi",
    "oslo.policy",
)


def parse_settings(settings: Sequence[str]) -> dict[str, dict[str, str]]:
    """Read options from words like ``conductor.max_attempts=5``.

    :raises roost.exception.Invalid: naming the word that is not like that, or that names no option
    """
    options: dict[str, dict[str, str]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        group, dot, option = name.partition(".")
        if not (group and dot and option and equals):
            raise exception.Invalid(f"{setting!r} must read GROUP.OPTION=VALUE")
        options.setdefault(group, {})[option] = value
    _check_known([f"{group}.{option}" for group in options for option in options[group]])
    return options


def read_inventory(path: pathlib.Path) -> dict[str, Any]:
    """Read what the pretended hosts of a rig have.

    :raises roost.exception.Invalid: naming the file and what is wrong with it
    """
    try:
        entries: dict[str, Any] = json.loads(path.read_text())
        inventory.check(entries)
    except (OSError, ValueError) as error:
        raise exception.Invalid(f"inventory file {path}: {error}") from error
    return entries


def _check_known(names: Sequence[str]) -> None:
    known = {name.lower(): name for name in _known()}
    for name in names:
        if known.get(name.lower()) != name:
            close = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0.8)
            hint = f"; did you mean {known[close[0]]}?" if close else ""
            raise exception.Invalid(f"there is no option {name}{hint}")


def _known() -> Iterator[str]:
    """Yield every option that some daemon reads, as GROUP.OPTION."""
    groups: list[tuple[Any, Any]] = list(roost.conf.list_opts())
    for entry in metadata.entry_points(group="oslo.config.opts"):
        if entry.name in LIBRARIES:
            groups += entry.load()()
    for group, options in groups:
        for option in options:
            yield f"{getattr(group, 'name', group) or 'DEFAULT'}.{option.dest}"
