"""Finds the plug-in that an option names among the entry points, and says what it lacks.

Packages that few deployments need are extras of ours. A daemon whose options need one that is not
installed is to end when it starts, rather than fail at its first request.
"""

import importlib
from typing import Any, Final

from stevedore import driver
from stevedore import exception as stevedore_exception

from roost import exception

# module -> the extra of ours that brings it
_EXTRAS: Final = {
    "bmemcached": "memcached",
    "confluent_kafka": "kafka",
    "etcd3gw": "etcd",
    "libvirt": "libvirt",
    "memcache": "memcached",
    "os_vif": "libvirt",
    "pymemcache": "memcached",
    "redis": "redis",
}


def find(group: str, name: str, *, option: str) -> Any:
    """Return the object of the entry point of that name.

    :param option: the option that has the name, such as ``[image] store``
    :raises roost.exception.Invalid: when the group has no such entry point, or it needs a library
        that is not installed
    """
    try:
        return driver.DriverManager(group, name).driver
    except stevedore_exception.NoMatches as error:
        raise exception.Invalid(
            f"{option} = {name}: no entry point of {group} has that name"
        ) from error
    except ModuleNotFoundError as error:
        raise exception.Invalid(f"{option} = {name}: {lacking(error)}") from error


def require(module: str, *, option: str) -> None:
    """Make sure of a module that a library imports for an option, at its first use only.

    :raises roost.exception.Invalid: when it is not installed
    """
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise exception.Invalid(f"{option}: {lacking(error)}") from error


def lacking(error: ImportError) -> str:
    """Say which module is not installed, and what installs it."""
    if not error.name:
        return " ".join(str(error).split())
    extra = _EXTRAS.get(error.name.partition(".")[0])
    how = f": pip install 'roost[{extra}]'" if extra else ""
    return f"{error.name} is not installed{how}"
