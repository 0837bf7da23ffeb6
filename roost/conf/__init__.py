"""All options of all daemons: one module per room, each with its groups.

Only ``cmd/`` and test fixtures read files; below, a component gets plain values or its group.
"""

import pathlib
from collections.abc import Callable, Sequence
from importlib import metadata
from typing import Any

from oslo_config import cfg

from roost.conf import api, compute, conductor, database, default, image, network, quota, scheduler

DEFAULT_FILE = "/etc/roost/roost.conf"
_MODULES = (default, database, api, quota, conductor, scheduler, compute, network, image)


def register(conf: cfg.ConfigOpts) -> None:
    """Make every option of Roost known to ``conf``."""
    for group, options in list_opts():
        conf.register_opts(options, group=None if group == "DEFAULT" else group)


def load(
    arguments: Sequence[str] = (),
    files: list[str] | None = None,
    prog: str = "roost",
    *,
    extend: Callable[[cfg.ConfigOpts], None] = lambda _: None,
) -> cfg.ConfigOpts:
    """Read a command line, and the files it names (or ``/etc/roost/roost.conf``).

    :param extend: registers the options of libraries that add to the command line
    """
    conf = cfg.ConfigOpts()
    register(conf)
    extend(conf)
    if files is None:
        files = [DEFAULT_FILE] if pathlib.Path(DEFAULT_FILE).exists() else []
    conf(
        list(arguments),
        project="roost",
        prog=prog,
        version=metadata.version("roost"),
        default_config_files=files,
        default_config_dirs=[],
    )
    return conf


def of(values: dict[str, dict[str, Any]]) -> cfg.ConfigOpts:
    """Make a configuration from values by group and option: what tests and the rig use."""
    conf = load([], files=[])
    for group, options in values.items():
        for name, value in options.items():
            conf.set_override(name, value, group=None if group == "DEFAULT" else group)
    return conf


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Groups and their options, for registering and for the sample generator."""
    found: list[tuple[str, list[cfg.Opt]]] = []
    for module in _MODULES:
        if hasattr(module, "GROUP"):
            found.append((module.GROUP, module.OPTIONS))
        found += getattr(module, "GROUPS", [])
    return found
