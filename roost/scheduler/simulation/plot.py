"""Plots several courses. Needs matplotlib, which the rest of Roost does not."""

import importlib.util
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception

_INCHES: Final = (10, 11)
_DOTS: Final = 110


def check() -> None:
    """Check for matplotlib before long work.

    :raises roost.exception.Invalid: when matplotlib is missing
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise exception.Invalid("plots need matplotlib: pip install 'roost[plot]'")


def draw(
    path: pathlib.Path, series: Mapping[str, Sequence[Mapping[str, Any]]], *, hosts: int
) -> None:
    """Plot hosts in use, stranded shares and failed VMs into a file; its suffix is the format.

    :param series: rows of ``report.series_of`` by the name of the driver
    :raises roost.exception.Invalid: when the format is not known
    :raises OSError: when the file cannot be written
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=_INCHES, layout="constrained")
    used, stranded, failed = figure.subplots(3, sharex=True)
    for name, rows in series.items():
        times = _column(rows, "time")
        (line,) = used.step(times, _column(rows, "hosts_used"), where="post", label=name)
        colour = line.get_color()
        for what, style in (("cores", "-"), ("ram", "--")):
            values = _column(rows, f"stranded_share_{what}")
            label = f"{name}, {what}"
            stranded.step(times, values, style, where="post", color=colour, label=label)
        failed.step(times, _column(rows, "failed_vms"), where="post", color=colour, label=name)
    _bound(used, series)
    used.axhline(hosts, color="grey", linewidth=0.8)
    for axes, title in (
        (used, "hosts in use"),
        (stranded, "stranded share of the fleet"),
        (failed, "failed VMs"),
    ):
        axes.set_ylabel(title)
        axes.legend(fontsize="small")
    failed.set_xlabel("time")
    try:
        figure.savefig(path, dpi=_DOTS)
    except ValueError as error:
        raise exception.Invalid(f"{path}: {error}") from error


def _bound(axes: Any, series: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Plot the highest bound, that of the run that placed most VMs."""
    rows = max(series.values(), key=lambda each: sum(_column(each, "bound")))
    axes.step(_column(rows, "time"), _column(rows, "bound"), "k:", where="post", label="bound")


def _column(rows: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [row.get(name, 0) for row in rows]
