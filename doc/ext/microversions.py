"""``.. microversions::`` lists what each microversion changes, as its history says.

For those not served it shows what they need.
"""

from typing import Final

import microversion_history
from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from roost.api import microversions

_COLUMNS: Final = (("version", 8), ("what differs", 62), ("here", 30))
_ABSENT: Final = {
    "action": "no action {}",
    "path": "no {}",
    "field": "no field {}",
    "filter": "no filter {}",
    "feature": "no {}",
}


class Microversions(Directive):
    """One row for each microversion."""

    def run(self) -> list[nodes.Node]:
        group = nodes.tgroup(cols=len(_COLUMNS))
        group += [nodes.colspec(colwidth=width) for _, width in _COLUMNS]
        head, body = nodes.thead(), nodes.tbody()
        head += _line([name for name, _ in _COLUMNS])
        body += [_line(_row(difference)) for difference in microversion_history.HISTORY]
        group += [head, body]
        return [nodes.table("", group)]


def _row(difference: microversion_history.MicroversionChange) -> list[str]:
    return [microversions.name(difference.minor), difference.what, _here(difference)]


def _here(difference: microversion_history.MicroversionChange) -> str:
    if difference.served:
        return "served"
    kind, _, name = difference.needs.partition(" ")
    return _ABSENT[kind].format(name)


def _line(cells: list[str]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in cells))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("microversions", Microversions)
    return {"parallel_read_safe": True}
