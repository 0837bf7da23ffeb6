"""The output of commands: a table for people, JSON for programs."""

import datetime
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Final

import click
from rich.console import Console
from rich.table import Table

_WIDE: Final = 250  # columns if the output is not a terminal: programs get no wrapped lines

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")


def show_rows(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], *, as_json: bool) -> None:
    """Print a list of rows with these columns."""
    if as_json:
        _print_json([{column: row[column] for column in columns} for row in rows])
        return
    table = Table(*(column.replace("_", " ") for column in columns))
    for row in rows:
        table.add_row(*(_shown(row[column]) for column in columns))
    _console().print(table)


def show_one(values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print one row, a line per field."""
    if as_json:
        _print_json(values)
        return
    table = Table(show_header=False)
    for name, value in values.items():
        table.add_row(name.replace("_", " "), _shown(value))
    _console().print(table)


def show_done(done: str, values: Mapping[str, Any], *, as_json: bool) -> None:
    """Print what was done as a sentence; in JSON, print ``values``."""
    if as_json:
        _print_json(values)
    else:
        click.echo(done)


def warn(message: str) -> None:
    """Print a warning to standard error."""
    click.echo(message, err=True)


def _console() -> Console:
    width = None if sys.stdout.isatty() else _WIDE
    return Console(file=sys.stdout, width=width, highlight=False, markup=False, emoji=False)


def _print_json(value: Any) -> None:
    click.echo(json.dumps(value, indent=2, default=_plain))


def _plain(value: Any) -> str:
    if isinstance(value, datetime.datetime):
        return value.isoformat()
    return str(value)


def _shown(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime.datetime):
        return value.strftime("%Y-%m-%d %H:%M:%S")
    if isinstance(value, Mapping):
        return "\n".join(f"{key}={_shown(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(_shown(item) for item in value)
    return str(value)
