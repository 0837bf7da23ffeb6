"""Run a program on a host of a rig: ``python -m roost.rig.hypervisors.enter [...] FOLDER PROGRAM``.

Supervisord runs it so. This process becomes the program, so that a signal to the one is a signal to
the other; the host is made when the first of its programs runs.
"""

import os
import pathlib
import sys

import click

from roost import exception
from roost.rig.hypervisors.machine import HostNamespace


@click.command(context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("folder", type=click.Path(path_type=pathlib.Path))
@click.option("--first", is_flag=True, help="Make the host, if nothing of it is left.")
@click.option("--after", metavar="SOCKET", help="Wait until this one in /run/libvirt is there.")
@click.option("--seconds", type=float, default=60.0, show_default=True, help="To wait at most.")
@click.argument("words", nargs=-1, required=True)
def main(
    *, folder: pathlib.Path, first: bool, after: str | None, seconds: float, words: tuple[str, ...]
) -> None:
    """Become a program on the host that is in FOLDER."""
    machine = HostNamespace.load(folder)
    if after:
        machine.wait_until(after, seconds=seconds)
    try:
        made = first and not machine.stands
        command = machine.beginning(words) if made else machine.inside(words)
    except exception.RoostError as error:
        sys.exit(error.message)
    os.environ["PATH"] = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    os.execvp(command[0], command)  # noqa: S606 - in words of our own


if __name__ == "__main__":
    main()
