"""roost-conductor: super-conductor and cell-conductor in one process, where there is one cell."""

from roost import concurrency

concurrency.select()

from oslo_config import cfg

from roost.cmd import _options, _run, cell_conductor, super_conductor
from roost.cmd._daemon import Daemon

NAME = "roost-conductor"


def build(conf: cfg.ConfigOpts) -> Daemon:
    """Assemble both conductors; the API bus is the cell's bus, too."""
    return Daemon.joined(NAME, super_conductor.build(conf), cell_conductor.build(conf))


def main() -> None:
    _run.run(_options.load(NAME), build)
