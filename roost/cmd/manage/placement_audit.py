"""``roost-manage placement audit``: whether claims and instances agree."""

import click

from roost.audit import PLACEMENT
from roost.audit import audit as look
from roost.cmd.manage.audit import collector, settle_option, tell, verbose_option
from roost.cmd.manage.deployment import Deployment, pass_deployment
from roost.cmd.manage.output import json_option


@click.command("audit")
@verbose_option
@settle_option
@json_option
@pass_deployment
def audit_placement(deployment: Deployment, *, verbose: bool, settle: float, as_json: bool) -> None:
    """Compare claims with instances and with what hosts count as in use. Changes nothing.

    This is the part of roost-manage audit that is about placement; no host is asked. Exits with 0
    when everything could be looked at and all counts are zero, else with 1; roost-manage placement
    heal repairs what it finds.
    """
    collect = collector(deployment, guests=False)
    tell(look(collect, settle=settle, kinds=PLACEMENT), verbose=verbose, as_json=as_json)
