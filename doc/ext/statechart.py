"""``.. states::`` draws the states of an instance and their allowed moves."""

from docutils import nodes
from docutils.parsers.rst import Directive
from drawing import Drawing
from sphinx.application import Sphinx

from roost import states
from roost.operations.transitions import TRANSITIONS
from roost.states import State

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 190, 110, 140, 40, 30
FILLS = {
    states.BUILDING: "#fdf3d7",
    states.ACTIVE: "#dff3df",
    states.PAUSED: "#e6f0d8",
    states.SUSPENDED: "#d8eeee",
    states.RESCUED: "#f3e4f3",
    states.STOPPED: "#dfe9f3",
    states.ERROR: "#f9dcdc",
    states.DELETED: "#e6e6e6",
}
ROWS = [
    *(states.BUILDING, states.ACTIVE, states.PAUSED, states.SUSPENDED),
    *(states.RESCUED, states.STOPPED, states.ERROR),
]
# columns of the states without a task, right of all tasks
REST = {
    states.ACTIVE: 0,
    states.PAUSED: 1,
    states.SUSPENDED: 0,
    states.RESCUED: 1,
    states.STOPPED: 0,
    states.ERROR: 1,
}
_NOT = (None, states.DELETING)


class States(Directive):
    """A picture, and the table behind it."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", draw(), format="html"), table()]


def draw() -> str:
    """Draw all but the final states, which every state can reach."""
    places = _places()
    width = MARGIN * 2 + max(x for x, _ in places.values()) + WIDTH
    drawing = Drawing(width, MARGIN * 2 + ROW * len(ROWS))
    for before in places:
        for after in sorted(TRANSITIONS[before] - {before}, key=str):
            if after in places:
                _arrow(drawing, places[before], places[after])
    for state, (x, y) in places.items():
        drawing.box(x, y, WIDTH, HEIGHT, fill=FILLS[state.vm])
        _name_box(drawing, x + WIDTH / 2, y, state)
    _draw_end(drawing, MARGIN + ROW * len(ROWS))
    return drawing.svg()


def _name_box(drawing: Drawing, middle: float, y: float, state: State) -> None:
    if state.task is None:
        drawing.text(middle, y + 25, state.vm.upper(), style='font-weight="bold"')
    else:
        drawing.text(middle, y + 17, state.vm)
        drawing.text(middle, y + 33, state.task, style='font-style="italic"')


def _draw_end(drawing: Drawing, y: int) -> None:
    drawing.text(MARGIN, y + 25, "from each of these, at any moment:", anchor="start")
    for column, state in ((2, State("…", states.DELETING)), (3, State(states.DELETED))):
        drawing.box(MARGIN + column * COLUMN, y, WIDTH, HEIGHT, fill=FILLS[states.DELETED])
        _name_box(drawing, MARGIN + column * COLUMN + WIDTH / 2, y, state)
    begin = MARGIN + 2 * COLUMN + WIDTH
    drawing.line(begin, y + 20, begin + COLUMN - WIDTH, y + 20, style='marker-end="url(#head)"')


def table() -> nodes.Node:
    """Return the transitions as a definition list: a state, and its followers."""
    entries = nodes.definition_list()
    for before, followers in TRANSITIONS.items():
        after = ", ".join(sorted(_name(state) for state in followers)) or "nothing"
        entries += nodes.definition_list_item(
            "",
            nodes.term("", _name(before)),
            nodes.definition("", nodes.paragraph("", after)),
        )
    return entries


def _places() -> dict[State, tuple[int, int]]:
    """Return positions: rows by the VM state, columns in the order of the table."""
    places = {}
    tasks = {vm: [s for s in TRANSITIONS if s.vm == vm and s.task not in _NOT] for vm in ROWS}
    most = max(map(len, tasks.values()))
    for row, vm in enumerate(ROWS):
        for column, state in enumerate(tasks[vm]):
            places[state] = (MARGIN + column * COLUMN, MARGIN + row * ROW)
        if State(vm) in TRANSITIONS:
            places[State(vm)] = (MARGIN + (most + REST[vm]) * COLUMN, MARGIN + row * ROW)
    return places


def _arrow(drawing: Drawing, start: tuple[int, int], end: tuple[int, int]) -> None:
    (x1, y1), (x2, y2) = start, end
    if y1 == y2:
        side = WIDTH if x2 > x1 else 0
        high = y1 if x2 > x1 else y1 + HEIGHT
        bend = -22 if x2 > x1 else 22
        x_from, x_to = x1 + WIDTH / 2 + 10 * (1 if side else -1), x2 + WIDTH / 2
        commands = (
            f"M{x_from:.0f},{high} C{x_from:.0f},{high + bend} {x_to:.0f},{high + bend}"
            f" {x_to:.0f},{high}"
        )
    else:
        x_from, x_to = x1 + WIDTH / 2, x2 + WIDTH / 2
        low, top = (y1 + HEIGHT, y2) if y2 > y1 else (y1, y2 + HEIGHT)
        commands = f"M{x_from:.0f},{low} L{x_to:.0f},{top}"
    drawing.path(commands, style='marker-end="url(#head)" opacity="0.6"')


def _name(state: State) -> str:
    return state.vm.upper() if state.task is None else f"{state.vm}, {state.task}"


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("states", States)
    return {"parallel_read_safe": True}
