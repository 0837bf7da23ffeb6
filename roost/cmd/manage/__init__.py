"""``roost-manage``: what an operator does to databases, cells, flavors and images."""

import sys

from roost import concurrency


def main() -> None:
    """Run the command that the command line names."""
    try:
        concurrency.select()
    except RuntimeError as error:
        sys.exit(f"roost-manage: {error}")
    from roost.cmd.manage.cli import roost_manage

    roost_manage(prog_name="roost-manage")
