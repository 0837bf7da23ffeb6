"""``.. states::`` draws the states of an instance, and what may follow what, from roost.states."""

from docutils import nodes
from docutils.parsers.rst import Directive
from drawing import Drawing
from sphinx.application import Sphinx

from roost import states
from roost.states import State

COLUMN, ROW, WIDTH, HEIGHT, MARGIN = 190, 110, 140, 40, 30
FILLS = {
    states.BUILDING: "#fdf3d7",
    states.ACTIVE: "#dff3df",
    states.ERROR: "#f9dcdc",
    states.DELETED: "#e6e6e6",
}
# where the states of rest stand, in columns: beside the ways of the others
REST = {states.ACTIVE: 2, states.ERROR: 0, states.DELETED: 1}
ROWS = [states.BUILDING, states.ACTIVE, states.ERROR, states.DELETED]


class States(Directive):
    """A picture, and the table behind it."""

    def run(self) -> list[nodes.Node]:
        return [nodes.raw("", draw(), format="html"), table()]


def draw() -> str:
    places = _places()
    width = MARGIN * 2 + max(x for x, _ in places.values()) + WIDTH
    drawing = Drawing(width, MARGIN * 2 + ROW * (len(ROWS) - 1) + HEIGHT)
    for before, followers in states.MOVES.items():
        for after in sorted(followers - {before}, key=str):
            _arrow(drawing, places[before], places[after])
    for state, (x, y) in places.items():
        drawing.box(x, y, WIDTH, HEIGHT, fill=FILLS.get(state.vm, "#fff"))
        middle = x + WIDTH / 2
        if state.task is None:
            drawing.text(middle, y + 25, state.vm.upper(), style='font-weight="bold"')
        else:
            drawing.text(middle, y + 17, state.vm)
            drawing.text(middle, y + 33, state.task, style='font-style="italic"')
    return drawing.svg()


def table() -> nodes.Node:
    """Return the moves as a definition list: a state, and what may follow it."""
    entries = nodes.definition_list()
    for before, followers in states.MOVES.items():
        after = ", ".join(sorted(_name(state) for state in followers)) or "nothing"
        entries += nodes.definition_list_item(
            "",
            nodes.term("", _name(before)),
            nodes.definition("", nodes.paragraph("", after)),
        )
    return entries


def _places() -> dict[State, tuple[int, int]]:
    """Rows by the state that an instance rests in, columns in the order of the table."""
    places = {}
    vms = ROWS + sorted({state.vm for state in states.MOVES} - set(ROWS))
    for row, vm in enumerate(vms):
        members = [state for state in states.MOVES if state.vm == vm]
        members.sort(key=lambda state: (state.task == states.DELETING, state.task is None))
        for column, state in enumerate(members):
            at = 3 if state.task == states.DELETING else REST.get(vm, column)
            places[state] = (MARGIN + at * COLUMN, MARGIN + row * ROW)
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
