"""``roost-manage placement``: hosts and claims as the schedulers have them."""

import click

from roost.cmd.manage.host_removal import remove_host
from roost.cmd.manage.placement_audit import audit_placement
from roost.cmd.manage.placement_explain import explain
from roost.cmd.manage.placement_heal import heal
from roost.cmd.manage.placement_lists import claims, hosts
from roost.cmd.manage.placement_simulate import simulate


@click.group()
def placement() -> None:
    """See and plan which hosts take which servers."""


for _command in (explain, hosts, claims, audit_placement, heal, remove_host, simulate):
    placement.add_command(_command)
