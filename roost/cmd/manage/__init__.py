"""``roost-manage``: the operator's command for databases, cells, flavors, images, placement.

``cli.py`` is the command, with a module per group of subcommands; ``deployment.py`` opens the
databases and buses, ``arguments.py`` reads arguments, ``output.py`` prints tables or, by
``--json``, JSON.
"""

from roost import concurrency


def main() -> None:
    """Run the command that the command line names."""
    concurrency.select()
    from roost.cmd.manage.cli import roost_manage

    roost_manage(prog_name="roost-manage")
