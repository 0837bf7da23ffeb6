"""``roost-manage``: what an operator does to databases, cells, flavors and images."""

from roost import concurrency


def main() -> None:
    """Run the command that the command line names."""
    concurrency.select()
    from roost.cmd.manage.cli import roost_manage

    roost_manage(prog_name="roost-manage")
