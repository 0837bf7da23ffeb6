"""``roost-manage audit``: counts and repairs inconsistencies between parts of a deployment."""

import dataclasses
from collections.abc import Sequence
from typing import Any, Final

import click

from roost.audit import Collector, Report, plan
from roost.audit import audit as look
from roost.audit.executor import RepairExecutor, RepairOutcome
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_one, show_rows, warn

_COLUMNS: Final = ("subject", "host", "what", "why")


@click.command()
@click.option("--verbose", is_flag=True, help="List every finding, not only how many there are.")
@click.option(
    "--settle",
    type=click.FloatRange(0),
    default=3.0,
    show_default=True,
    help="Seconds until the second check: only findings of both count. 0: check once.",
)
@click.option("--repair", is_flag=True, help="Repair the findings, then look again.")
@click.option("--dry-run", is_flag=True, help="With --repair: only show what would be done.")
@json_option
@pass_deployment
def audit(
    deployment: Deployment,
    *,
    verbose: bool,
    settle: float,
    repair: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Check databases, scheduler, hosts and Neutron against each other.

    Changes nothing without --repair. With it, repairs all findings that can be repaired safely
    while everything runs; the others, which need a decision of the operator, are listed. Safe to
    repeat.

    Exits with 0 when everything could be checked and all counts are zero (with --repair: are
    zero by now), else with 1.
    """
    if dry_run and not repair:
        raise click.UsageError("--dry-run shows what --repair would do: give both")
    collect = collector(deployment)
    report = look(collect, settle=settle)
    outcomes = _mend(deployment, report, dry_run=dry_run) if repair else None
    if outcomes and not dry_run:
        report = look(collect, settle=settle)
    if as_json:
        _tell_json(report, outcomes)
    else:
        _tell(report, outcomes or [], verbose=verbose)
    if report.findings or report.unchecked:
        click.get_current_context().exit(1)


def _mend(deployment: Deployment, report: Report, *, dry_run: bool) -> list[RepairOutcome]:
    repairs = plan(report.findings, report.snapshot)
    if dry_run:
        return [RepairOutcome(repair, f"would {repair.action}") for repair in repairs]
    mender = RepairExecutor(
        deployment.api_database,
        deployment.cells,
        deployment.scheduler,
        outside_ports=deployment.outside_ports,
    )
    return list(mender.carry_out(repairs))


def collector(deployment: Deployment) -> Collector:
    """Return the collector of all parts of a deployment."""
    return Collector(
        deployment.api_database,
        deployment.cells,
        deployment.scheduler,
        group=deployment.service_group,
        outside_ports=deployment.outside_ports,
    )


def _tell(report: Report, outcomes: Sequence[RepairOutcome], *, verbose: bool) -> None:
    if outcomes:
        show_rows([_row(outcome) for outcome in outcomes], _COLUMNS, as_json=False)
    counts = [{"audit": kind, "found": count} for kind, count in report.counts.items()]
    show_rows(counts, ("audit", "found"), as_json=False)
    if verbose and report.findings:
        findings = [dataclasses.asdict(finding) for finding in report.findings]
        show_rows(findings, ("kind", "subject", "detail"), as_json=False)
    elif report.findings:
        warn("run again with --verbose to list them")
    for what in report.unchecked:
        warn(f"could not check {what}")


def _tell_json(report: Report, outcomes: Sequence[RepairOutcome] | None) -> None:
    answer = {
        "counts": report.counts,
        "findings": [dataclasses.asdict(finding) for finding in report.findings],
        "unchecked": report.unchecked,
    }
    if outcomes is not None:
        answer["repairs"] = [_row(outcome) for outcome in outcomes]
    show_one(answer, as_json=True)


def _row(outcome: RepairOutcome) -> dict[str, Any]:
    repair = outcome.repair
    values = (repair.subject, repair.host, outcome.what, outcome.why)
    return dict(zip(_COLUMNS, values, strict=True))
