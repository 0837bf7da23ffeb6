"""States of an instance, and what may follow what.

An instance rests in a *vm state* and may be under a *task state*; the pair moves only along
``MOVES``. ``db/cell/instances.py`` refuses any other move, the tests walk the table, and the
documentation's picture is drawn from it.
"""

from typing import Final, NamedTuple

BUILDING: Final = "building"
ACTIVE: Final = "active"
ERROR: Final = "error"
DELETED: Final = "deleted"

SCHEDULING: Final = "scheduling"
NETWORKING: Final = "networking"
SPAWNING: Final = "spawning"
DELETING: Final = "deleting"

NOSTATE: Final = 0
RUNNING: Final = 1

BUILD_TASKS: Final = (SCHEDULING, NETWORKING, SPAWNING)


class State(NamedTuple):
    """Where an instance is: the state it rests in, and the task under way (None: none)."""

    vm: str
    task: str | None = None


WAITING: Final = State(BUILDING, SCHEDULING)
_BUILDS: Final = tuple(State(BUILDING, task) for task in BUILD_TASKS)

MOVES: Final[dict[State, frozenset[State]]] = {
    # handed to a host, which begins with its networks or (none asked for) with the guest
    State(BUILDING, SCHEDULING): frozenset(
        {*_BUILDS, State(ERROR), State(BUILDING, DELETING), State(DELETED)}
    ),
    # a failed attempt goes back to SCHEDULING
    State(BUILDING, NETWORKING): frozenset(
        {*_BUILDS, State(ERROR), State(BUILDING, DELETING), State(DELETED)}
    ),
    State(BUILDING, SPAWNING): frozenset(
        {
            State(BUILDING, SPAWNING),
            State(BUILDING, SCHEDULING),
            State(ACTIVE),
            State(ERROR),
            State(BUILDING, DELETING),
            State(DELETED),
        }
    ),
    State(ACTIVE): frozenset({State(ACTIVE, DELETING), State(ERROR), State(DELETED)}),
    State(ERROR): frozenset({State(ERROR, DELETING), State(DELETED)}),
    # a delete may be asked for again, and only ever ends one way
    State(BUILDING, DELETING): frozenset({State(BUILDING, DELETING), State(DELETED)}),
    State(ACTIVE, DELETING): frozenset({State(ACTIVE, DELETING), State(DELETED)}),
    State(ERROR, DELETING): frozenset({State(ERROR, DELETING), State(DELETED)}),
    State(DELETED): frozenset(),
}


def may_follow(before: State, after: State) -> bool:
    """Tell whether an instance in ``before`` may be moved to ``after``."""
    return after in MOVES.get(before, frozenset())
