"""Run named steps in order; on failure, undo the started ones in reverse order."""

import dataclasses
import functools
import logging
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from roost import exception

LOG = logging.getLogger(__name__)
W = TypeVar("W")


@dataclasses.dataclass(frozen=True)
class Step(Generic[W]):
    """One step of the work, and its undo.

    Both must be idempotent: a daemon may die between doing a step and recording that it did.
    The undo is also called for a step that failed half-way.
    """

    do: Callable[[W], object]
    undo: Callable[[W], object] | None = None

    @property
    def name(self) -> str:
        return self.do.__name__


class Flow(Generic[W]):
    """Steps that succeed as a whole or leave nothing behind.

    :param steps: returns the steps; called at the first use, so that a module can begin with its
        flows and have the functions of their steps below
    :param run: called for every do and undo; tests pass one that fails, repeats or records
    """

    def __init__(
        self,
        name: str,
        steps: Callable[[], Iterable[Step[W]]],
        run: Callable[[Callable[[W], object], W], object] = lambda do, work: do(work),
    ) -> None:
        self.name = name
        self.run = run
        self._make_steps = steps

    @functools.cached_property
    def steps(self) -> tuple[Step[W], ...]:
        """The steps, in order."""
        return tuple(self._make_steps())

    def __call__(self, work: W) -> None:
        begun: list[Step[W]] = []
        for step in self.steps:
            begun.append(step)
            try:
                self.run(step.do, work)
            except Exception:
                LOG.debug("%s: %s failed, undoing", work, step.name)
                self._undo(reversed(begun), work)
                raise

    def _undo(self, steps: Iterable[Step[W]], work: W) -> None:
        for step in steps:
            if step.undo is None:
                continue
            try:
                self.run(step.undo, work)
            except exception.RoostError as error:
                LOG.warning("%s: could not undo %s: %s", work, step.name, error.message)
            except Exception:
                LOG.exception("%s: could not undo %s", work, step.name)
