"""Diagrams and lists of the code's flows; the build fails if they no longer match the code.

``.. sequence::`` draws messages between daemons. A line ``a -> b: method`` is checked against the
interface that ``b`` declares in ``roost.rpc``: calls are drawn solid, casts dashed. A line
``a: text`` is a note on what ``a`` does itself.

``.. flow:: module:name`` lists the steps of a :class:`roost.flow.Flow`, with their undos.
"""

import importlib
import inspect
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from drawing import Drawing
from sphinx.application import Sphinx

from roost.flow import Flow
from roost.rpc.cell_conductor import CellConductor
from roost.rpc.compute import Compute
from roost.rpc.scheduler import CellScheduler, Scheduler
from roost.rpc.super_conductor import SuperConductor


class Schedulers:
    """One daemon, which serves both interfaces."""

    methods = Scheduler.methods | CellScheduler.methods


INTERFACES: dict[str, Any] = {
    "super-conductor": SuperConductor,
    "scheduler": Schedulers,
    "cell-conductor": CellConductor,
    "compute": Compute,
    "next-compute": Compute,
}
LANE, ROW, TOP, MARGIN = 190, 34, 50, 90


class Sequence(Directive):
    """A sequence diagram; the argument names the participants, from left to right."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True

    def run(self) -> list[nodes.Node]:
        lanes = self.arguments[0].split()
        lines = [line.strip() for line in self.content if line.strip()]
        wrong = [reason for line in lines if (reason := _why_wrong(line, lanes))]
        if wrong:
            raise self.error("; ".join(wrong))
        return [nodes.raw("", draw(lanes, lines), format="html")]


class FlowSteps(Directive):
    """The steps of a flow, in order."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        module, _, name = self.arguments[0].partition(":")
        found = getattr(importlib.import_module(module), name)
        flow: Flow[Any] = found if isinstance(found, Flow) else found()
        steps = nodes.enumerated_list(enumtype="arabic")
        for step in flow.steps:
            steps += nodes.list_item("", _described(step.name, step.do, step.undo))
        return [steps]


def _described(name: str, do: Any, undo: Any) -> nodes.paragraph:
    said = nodes.paragraph("", "", nodes.literal("", name))
    about = (inspect.getdoc(do) or "").split("\n\n")[0].replace("\n", " ")
    if about:
        said += nodes.Text(f": {about}")
    if undo is not None:
        said += nodes.Text(" Undone by ")
        said += nodes.literal("", undo.__name__)
        said += nodes.Text(".")
    return said


def _why_wrong(line: str, lanes: list[str]) -> str | None:
    who, text = _parsed(line)
    unknown = [name for name in who if name not in lanes]
    if unknown:
        return f"{line!r}: there is no lane {', '.join(unknown)}"
    for receiver in who[1:]:
        if receiver in INTERFACES and text not in INTERFACES[receiver].methods:
            return f"{line!r}: {receiver} declares no method {text}"
    return None


def _parsed(line: str) -> tuple[list[str], str]:
    who, _, text = line.partition(": ")
    return [name.strip() for name in who.split("->")], text.strip()


def draw(lanes: list[str], lines: list[str]) -> str:
    """Draw lifelines and, one below the other, messages and notes."""
    height = TOP + ROW * (len(lines) + 1)
    drawing = Drawing(MARGIN * 2 + LANE * (len(lanes) - 1), height)
    places = {name: MARGIN + LANE * at for at, name in enumerate(lanes)}
    for name, x in places.items():
        drawing.line(x, TOP - 10, x, height - 10, style='stroke-dasharray="2 4"')
        drawing.box(x - 65, 10, 130, 30, fill="#e8eef7")
        drawing.text(x, 30, name, style='font-weight="bold"')
    for row, line in enumerate(lines, 1):
        who, text = _parsed(line)
        y = TOP + ROW * row - 8
        if len(who) == 1:
            _note(drawing, places[who[0]], y, text)
        else:
            _message(drawing, who[1], (places[who[0]], places[who[1]]), y, text)
    return drawing.svg()


def _note(drawing: Drawing, x: int, y: int, text: str) -> None:
    drawing.box(x - 5, y - 12, 10, 16, fill="#cfdcf0")
    right = x < drawing.width / 2
    drawing.text(
        x + (12 if right else -12), y + 1, text, anchor="start" if right else "end",
        style='font-style="italic"',
    )  # fmt: skip


def _message(drawing: Drawing, to: str, ends: tuple[int, int], y: int, text: str) -> None:
    method = INTERFACES[to].methods.get(text) if to in INTERFACES else None
    is_cast = method is not None and method.declared.kind == "cast"
    dashed = 'stroke-dasharray="6 4" ' if is_cast else ""
    drawing.line(ends[0], y, ends[1], y, style=f'{dashed}marker-end="url(#head)"')
    drawing.text(sum(ends) / 2, y - 5, text)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("sequence", Sequence)
    app.add_directive("flow", FlowSteps)
    return {"parallel_read_safe": True}
