"""``.. callers::`` lists the allowed callers of each RPC method, as the interfaces declare them."""

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from roost.callers import Level
from roost.rpc.access import NOTHING, ROWS
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.interface import Interface
from roost.rpc.scheduler import CellScheduler, Scheduler, SchedulerFeed
from roost.rpc.super_conductor import SuperConductor

INTERFACES = (SuperConductor, Scheduler, SchedulerFeed, CellScheduler, CellConductor, Compute)
COLUMNS = (("topic", 16), ("method", 28), ("callers", 20), ("compared", 34), ("token", 6))
_COMPARED = {NOTHING: "nothing: it is the same for all", ROWS: "rows: those of other cells"}


class CallersTable(Directive):
    """A row for each method of each interface."""

    def run(self) -> list[nodes.Node]:
        group = nodes.tgroup(cols=len(COLUMNS))
        group += [nodes.colspec(colwidth=width) for _, width in COLUMNS]
        head, body = nodes.thead(), nodes.tbody()
        head += _line([nodes.Text(name) for name, _ in COLUMNS])
        body += [_row(interface, name) for interface in INTERFACES for name in interface.methods]
        group += [head, body]
        return [nodes.table("", group)]


def _row(interface: type[Interface], name: str) -> nodes.row:
    levels = [level.value for level in Level if level in interface.callers_of(name)]
    declared = interface.methods[name].declared
    return _line(
        [
            nodes.literal("", interface.topic),
            nodes.literal("", name),
            nodes.Text(", ".join(levels)),
            nodes.Text(_compared(declared.own_host, declared.own_cell)),
            nodes.Text("yes" if declared.carries_token else ""),
        ]
    )


def _compared(own_host: str | None, own_cell: str | None) -> str:
    compared = [
        _COMPARED.get(path, f"{path}: the caller's {what}")
        for path, what in ((own_host, "name"), (own_cell, "cell"))
        if path is not None
    ]
    return "; ".join(compared)


def _line(cells: list[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("callers", CallersTable)
    return {"parallel_read_safe": True}
