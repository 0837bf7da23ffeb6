"""URLs that have passwords: taken from where nobody else can read them.

A command line can be read by everybody on the machine while the command runs, and stays in the
shell's history. So ``@FILE`` stands for what a file has, ``-`` for a line of standard input, and
some commands look into the environment.
"""

import pathlib
import sys
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from roost.cmd.manage.deployment import masked
from roost.cmd.manage.output import warn

F = TypeVar("F", bound=Callable[..., Any])
_HOW = "@FILE reads it from a file, - from standard input"


def url_option(
    name: str, help_text: str, *, required: bool = False, envvar: str | None = None
) -> Callable[[F], F]:
    """Return an option that takes a URL.

    :param envvar: what holds the URL where the option is left out
    """
    told = f"{help_text} {_HOW}" + (f"; else ${envvar}." if envvar else ".")
    return click.option(
        name, metavar="URL", required=required, envvar=envvar, help=told, callback=_read
    )


def _read(context: click.Context, option: click.Parameter, value: str | None) -> str | None:
    """Return the URL that is meant, and warn of a password that others may have seen.

    :raises click.BadParameter: when there is none where it is said to be
    """
    if value is None:
        return None
    if value == "-":
        return _line(sys.stdin.readline(), "standard input")
    if value.startswith("@"):
        return _line(_content(pathlib.Path(value[1:])), value[1:])
    said = context.get_parameter_source(str(option.name)) is ParameterSource.COMMANDLINE
    if said and masked(value) != value:
        warn(
            f"{option.opts[0]} has a password, which others on this machine can see, and which"
            f" stays in the history of the shell: {_HOW}"
        )
    return value


def _content(path: pathlib.Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise click.BadParameter(f"{path} cannot be read: {error}") from error


def _line(text: str, where: str) -> str:
    lines = text.split()
    if len(lines) != 1:
        raise click.BadParameter(f"{where} must have one URL, and has {len(lines)}")
    return lines[0]
