"""Small traces and inventories for tests: a test names only what matters to it."""

from roost import conf
from roost.scheduler import plugins
from roost.scheduler.simulation import inventory, trace
from roost.scheduler.simulation.amounts import SCALE
from roost.scheduler.simulation.inventory import HostKind


class Options:
    """``[scheduler]`` as it is by default, but for what is named."""

    def __init__(self, **values):
        self.__dict__.update(values)
        self._default = conf.of({}).scheduler

    def __getattr__(self, name):
        return getattr(self._default, name)


def a_driver(**values):
    return plugins.load_driver(Options(**{"profile": "pack"} | values))


def a_trace(folder, *lines, header="arrival,departure,cores,ram", **options):
    return trace.read(written(folder, *lines, header=header), **options)


def written(folder, *lines, header="arrival,departure,cores,ram"):
    path = folder / "trace.csv"
    path.write_text("\n".join((header, *lines)) + "\n")
    return path


def a_kind(count=1, *, cores=8, ram=16, disk=0, **values):
    sizes = {"cores": cores * SCALE, "ram": ram * SCALE, "disk": disk * SCALE}
    return HostKind(**{"name": "kind", "count": count, **sizes} | values)


def some_hosts(*kinds):
    return inventory.hosts_of(kinds or [a_kind()])
