"""The scheduler configurations that ``placement simulate`` compares, and its reports."""

import csv
import dataclasses
import pathlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost.cmd.manage.output import show_one, show_rows
from roost.scheduler import plugins
from roost.scheduler.drivers import Driver
from roost.scheduler.simulation.report import Outline, Summary
from roost.scheduler.simulation.study import StudyRun

_WEIGHS_NOTHING: Final = "chance"  # a driver that uses no weighers


class _Scheduler:
    """The options of ``[scheduler]``, some of them overridden by the command line."""

    def __init__(self, configured: Any, **overrides: Any) -> None:
        self.__dict__.update(overrides)
        self._configured = configured

    def __getattr__(self, name: str) -> Any:
        return getattr(self._configured, name)


def ways(
    configured: Any,
    *,
    drivers: Sequence[str],
    profiles: Sequence[str],
    weights: Sequence[str],
    filters: str | None,
) -> dict[str, Driver]:
    """Return drivers by the names of their columns.

    :param configured: the group ``[scheduler]``
    :raises roost.exception.Invalid: when a plug-in does not exist
    """
    weighed = _weighed(profiles, weights) or {_name(configured): {}}
    overrides = {"filters": _split(filters)} if filters else {}
    found = {}
    for driver in drivers or [configured.driver]:
        several = len(drivers) > 1 or driver != configured.driver
        for name, chosen in ({"": {}} if driver == _WEIGHS_NOTHING else weighed).items():
            options = _Scheduler(configured, driver=driver, **overrides, **chosen)
            parts = [driver if several or not name else "", name]
            found[" ".join(filter(None, parts))] = plugins.load_driver(options)
    return found


def show(outline: Outline, runs: Mapping[str, StudyRun], *, as_json: bool) -> None:
    """Print the outline of the study, and then the results of the runs, side by side."""
    if as_json:
        summaries = {name: dataclasses.asdict(run.summary) for name, run in runs.items()}
        report = {"outline": dataclasses.asdict(outline), "runs": summaries}
        show_one(report, as_json=True)
        return
    show_one(_outlined(outline), as_json=False)
    columns = {name: _figures(run.summary) for name, run in runs.items()}
    figures = dict.fromkeys(figure for column in columns.values() for figure in column)
    rows = [
        {"figure": figure, **{name: column.get(figure) for name, column in columns.items()}}
        for figure in figures
    ]
    show_rows(rows, ("figure", *columns), as_json=False)


def write(path: pathlib.Path, runs: Mapping[str, StudyRun]) -> None:
    """Write the samples of each run over time, one run after the other.

    :raises OSError: when the file cannot be written
    """
    with path.open("w", encoding="utf-8", newline="") as file:
        first = next(iter(runs.values())).series[0]
        writer = csv.DictWriter(file, ["run", *first])
        writer.writeheader()
        writer.writerows({"run": name, **row} for name, run in runs.items() for row in run.series)


def _weighed(profiles: Sequence[str], weights: Sequence[str]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {
        profile: {"profile": profile, "weighers": None} for profile in profiles
    }
    return found | {text: {"weighers": _split(text)} for text in weights}


def _name(configured: Any) -> str:
    """Name the weighers that are configured."""
    weighers = configured.weighers
    return configured.profile if weighers is None else ",".join(weighers)


def _split(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _outlined(outline: Outline) -> dict[str, str]:
    few = outline.bound_peak > outline.hosts
    bound = f"mean {outline.bound_mean:,.1f}, peak {outline.bound_peak:,}"
    reference = ", ".join(f"{name} {amount:g}" for name, amount in outline.reference.items())
    return {
        "hosts": f"{outline.hosts:,}",
        "VMs": f"{outline.vms:,} in {outline.requests:,} requests",
        "time": f"{outline.start:g} to {outline.end:g}",
        "demand of the fleet, mean": _shares(outline.mean_demand),
        "demand of the fleet, peak": _shares(outline.peak_demand),
        "fewest hosts that could do": "more than there are" if few else bound,
        "reference VM": reference,
    }


def _figures(summary: Summary) -> dict[str, str]:
    figures = {
        "VMs placed": f"{summary.placed:,}",
        "VMs failed": f"{summary.failed:,}",
        **{f"  {reason}": f"{count:,}" for reason, count in summary.reasons.items()},
        **{f"  {name} requested": f"{x:,.0f}" for name, x in summary.failed_amounts.items()},
        "hosts in use, mean": f"{summary.hosts_used_mean:,.1f}",
        "hosts in use, peak": f"{summary.hosts_used_peak:,}",
        "hosts in use, times the bound": f"{summary.hosts_over_bound:.3f}",
        "empty hosts, mean": f"{summary.empty_share_mean:.1%}",
    }
    for title, shares in (
        ("used, mean", summary.used_share_mean),
        ("stranded, mean", summary.stranded_share_mean),
        ("stranded, peak", summary.stranded_share_peak),
    ):
        figures |= {f"{name} {title}": f"{share:.2%}" for name, share in shares.items()}
    return figures | {"VMs per second": f"{summary.vms_per_second:,.0f}"}


def _shares(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {share:.1%}" for name, share in shares.items())
