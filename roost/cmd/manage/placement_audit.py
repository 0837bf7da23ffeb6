"""``roost-manage placement audit`` and ``heal``: claims against instances and hosts' usage.

``audit`` compares them and changes nothing, ``heal`` makes them agree again.
"""

from collections.abc import Sequence
from typing import Any, Final

import click

from roost.audit import PLACEMENT, plan
from roost.audit import audit as look
from roost.audit.executor import RepairExecutor, RepairOutcome
from roost.audit.repairs import LEAVE, RECOUNT_HOST, RELEASE, RESTORE
from roost.cmd.manage.audit import collector, settle_option, tell, verbose_option
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option, show_rows, warn


@click.command("audit")
@verbose_option
@settle_option
@json_option
@pass_deployment
def audit_placement(deployment: Deployment, *, verbose: bool, settle: float, as_json: bool) -> None:
    """Compare claims with instances and with the usage of hosts. Changes nothing.

    This is the placement part of roost-manage audit; it calls no host. Exits with 0 when
    everything could be checked and all counts are zero, else with 1; roost-manage placement
    heal repairs the findings.
    """
    collect = collector(deployment, guests=False)
    tell(look(collect, settle=settle, kinds=PLACEMENT), verbose=verbose, as_json=as_json)


_PLANNED: Final = {
    RELEASE: "would release",
    RESTORE: "would restore",
    RECOUNT_HOST: "would recount",
    LEAVE: "would leave alone",
}
_COLUMNS: Final = ("instance", "host", "what", "why")


@click.command()
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@click.option(
    "--settle",
    type=click.FloatRange(min=0, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds until the second check: only findings of both are repaired.",
)
@json_option
@pass_deployment
def heal(deployment: Deployment, *, dry_run: bool, settle: float, as_json: bool) -> None:
    """Release claims of instances that do not exist, and restore those of instances without one.

    Recounts the usage of hosts that differs from the sum of their claims. Hosts and schedulers do
    most of this themselves, a little later; this is for hosts that report no more, and for
    operators who cannot wait. Instances being built or deleted are left alone: the daemons handle
    their claims. Safe to repeat. It is the placement part of roost-manage audit --repair.

    Exits with 0 when nothing is left to be repaired, else with 1.
    """
    scheduler = deployment.answering_scheduler
    report = look(collector(deployment, guests=False), settle=settle, kinds=PLACEMENT)
    repairs = plan(report.findings, report.snapshot)
    if dry_run:
        outcomes = [RepairOutcome(repair, _PLANNED[repair.action]) for repair in repairs]
    else:
        mender = RepairExecutor(deployment.api_database, deployment.cells, scheduler)
        outcomes = list(mender.carry_out(repairs))
    _tell(outcomes, as_json=as_json)
    for what in report.unchecked:
        warn(f"could not check {what}")
    if report.unchecked or not all(outcome.done for outcome in outcomes):
        click.get_current_context().exit(1)


def _tell(outcomes: Sequence[RepairOutcome], *, as_json: bool) -> None:
    if outcomes or as_json:
        rows = sorted(map(_row, outcomes), key=lambda row: [row[name] or "" for name in _COLUMNS])
        show_rows(rows, _COLUMNS, as_json=as_json)
    else:
        click.echo("claims and instances agree")


def _row(outcome: RepairOutcome) -> dict[str, Any]:
    repair = outcome.repair
    instance = None if repair.action == RECOUNT_HOST else repair.subject
    values = (instance, repair.host, outcome.what, outcome.why)
    return dict(zip(_COLUMNS, values, strict=True))
