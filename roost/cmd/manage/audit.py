"""``roost-manage audit``: what must always be zero."""

import dataclasses
import datetime

import click

from roost.audit import Collector, Report
from roost.audit import audit as look
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_one, show_rows, warn


@click.command()
@click.option("--verbose", is_flag=True, help="Tell every finding, not only how many there are.")
@click.option(
    "--settle",
    type=click.FloatRange(0),
    default=3.0,
    show_default=True,
    help="Seconds until the second look: only what is seen twice counts. 0: look once.",
)
@json_option
@click.pass_context
@pass_deployment
def audit(
    deployment: Deployment, context: click.Context, *, verbose: bool, settle: float, as_json: bool
) -> None:
    """Compare what databases, scheduler and hosts say of each other. Changes nothing.

    Exits with 0 when everything could be looked at and all counts are zero, else with 1.
    """
    collect = Collector(
        deployment.api_database,
        deployment.cells,
        deployment.scheduler,
        down_after=datetime.timedelta(seconds=deployment.conf.service_down_time),
    )
    report = look(collect, settle=settle)
    if as_json:
        _tell_json(report)
    else:
        _tell(report, verbose=verbose)
    if report.findings or report.unchecked:
        context.exit(1)


def _tell(report: Report, *, verbose: bool) -> None:
    counts = [{"audit": kind, "found": count} for kind, count in report.counts.items()]
    show_rows(counts, ("audit", "found"), as_json=False)
    if verbose and report.findings:
        findings = [dataclasses.asdict(finding) for finding in report.findings]
        show_rows(findings, ("kind", "subject", "detail"), as_json=False)
    elif report.findings:
        warn("run again with --verbose to see which they are")
    for what in report.unchecked:
        warn(f"could not look at {what}")


def _tell_json(report: Report) -> None:
    answer = {
        "counts": report.counts,
        "findings": [dataclasses.asdict(finding) for finding in report.findings],
        "unchecked": report.unchecked,
    }
    show_one(answer, as_json=True)
