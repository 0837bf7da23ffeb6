"""Finds the plug-in that an option names among the entry points."""

from typing import Any

from stevedore import driver
from stevedore import exception as stevedore_exception

from roost import exception


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
        raise exception.Invalid(
            f"{option} = {name}: it needs {error.name}, which is not installed"
        ) from error
