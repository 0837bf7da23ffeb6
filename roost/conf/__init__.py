"""All options of all daemons: one module per group, as operators find them in ``roost.conf``.

Only ``cmd/`` and test fixtures read files; below, a component gets plain values or its group, by
its constructor: import-linter lets only ``cmd`` and ``rig`` import this package. A module has the
options of its group, ``register`` below registers all; options of several daemons are in
``default.py``, ``bus.py`` and ``database.py``, Roost's identity for other services in
``identity.py``. The samples in ``etc/roost`` are generated from these modules.

May import the lowest layer (``states``, ``exception`` and the like) only.
"""

import functools
import importlib.util
import pathlib
import sys
from collections.abc import Callable, Sequence
from importlib import metadata as packages
from types import ModuleType
from typing import Any

from oslo_config import cfg

from roost import __version__

DEFAULT_FILE = "/etc/roost/roost.conf"
_NAMES = (
    "default",
    "bus",
    "servicegroup",
    "database",
    "api",
    "identity",
    "cells",
    "quota",
    "conductor",
    "scheduler",
    "filters",
    "compute",
    "devices",
    "libvirt",
    "network",
    "bridge",
    "neutron",
    "image",
    "glance",
    "pci",
    "metadata",
    "consoles",
)


def _installed() -> list[ModuleType]:
    """Import the modules of options; a distribution of one daemon has only those that it reads."""
    paths = (f"{__name__}.{name}" for name in _NAMES)
    return [importlib.import_module(path) for path in paths if importlib.util.find_spec(path)]


_MODULES = _installed()


def register(conf: cfg.ConfigOpts) -> None:
    """Register every option of Roost in ``conf``."""
    for group, options in own_opts():
        conf.register_opts(options, group=None if group == "DEFAULT" else group)


def load(
    arguments: Sequence[str] = (),
    files: list[str] | None = None,
    prog: str = "roost",
    *,
    extend: Callable[[cfg.ConfigOpts], None] = lambda _: None,
) -> cfg.ConfigOpts:
    """Read a command line, and the files it names (or ``/etc/roost/roost.conf``).

    :param extend: registers the command line options of libraries
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
        version=__version__,
        default_config_files=files,
        default_config_dirs=[],
    )
    return conf


def of(values: dict[str, dict[str, Any]]) -> cfg.ConfigOpts:
    """Make a configuration from values by group and option, for tests and the rig."""
    conf = load([], files=[])
    for group, options in values.items():
        if "auth_type" in options:
            from roost.conf.identity import auth_options  # needs Keystone's library

            conf.register_opts(auth_options(options["auth_type"]), group)
        for name, value in options.items():
            conf.set_override(name, value, group=None if group == "DEFAULT" else group)
    return conf


def list_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Groups and their options, for the sample generator and checks of names.

    Besides our own they are those of the usual auth plug-in; the plug-in in use, and its options,
    are only known when the files are read.
    """
    from roost.conf.identity import PASSWORD, PROVING, auth_options

    return [*own_opts(), *((group, auth_options(PASSWORD)) for group in PROVING)]


def own_opts() -> list[tuple[str, list[cfg.Opt]]]:
    """Groups and their options, for registering.

    External plug-ins list theirs by an entry point ``roost.options``.
    """
    found: list[tuple[str, list[cfg.Opt]]] = []
    for module in _MODULES:
        if hasattr(module, "GROUP"):
            found.append((module.GROUP, module.OPTIONS))
        found += getattr(module, "GROUPS", [])
    for point in _plug_ins(tuple(sys.path)):
        found += point.load()()
    return found


@functools.lru_cache(maxsize=1)
def _plug_ins(_path: tuple[str, ...]) -> packages.EntryPoints:
    """Return the entry points of external options; cached, as the search is slow."""
    return packages.entry_points(group="roost.options")
