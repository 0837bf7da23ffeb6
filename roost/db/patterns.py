"""Patterns in list filters, for which the Compute API documents regular expressions.

Patterns that LIKE can express, the usual ones (``web``, ``^web-.*$``), the databases decide alone.
For any other expression they only select rows by its literal beginning; RE2 checks these here, in
time linear in the length of the text: a database's own regular expressions could be made to run for
ever. Case does not matter, and ``^`` and ``$`` are the ends of the whole text.
"""

import dataclasses
import functools
import re
from typing import Final, Self

import re2

from roost import exception

_MOST_MEMORY: Final = 1 << 20  # bytes that one expression may take
_SIMPLE: Final = re.compile(r"\^?(?:\\[^\w\s]|\.\*|[^\\^$*+?()\[\]{}|])*\$?", re.DOTALL)
_BEGINNING: Final = re.compile(r"(?:\\[^\w\s]|[^\\^$*+?()\[\]{}|.])*", re.DOTALL)
_PART: Final = re.compile(r"\\.|\.\*|.", re.DOTALL)
_OPTIONAL: Final = ("*", "?", "{")  # the part before one of these is optional


@dataclasses.dataclass(frozen=True)
class Pattern:
    """A pattern for texts.

    :param like: a LIKE pattern with backslash as escape, which every fitting text matches
    :param expression: the pattern as a regular expression of RE2
    :param is_exact: whether every text that matches ``like`` fits
    """

    like: str
    expression: str
    is_exact: bool

    @classmethod
    def of(cls, said: str, *, from_start: bool = False) -> Self:
        """Make a pattern of a user's expression.

        :param from_start: texts must begin with it
        :raises roost.exception.Invalid: when it is no regular expression
        """
        expression = f"^(?:{said})" if from_start else said
        _check(said)
        if _SIMPLE.fullmatch(said):
            return cls(_like(said, from_start=from_start), expression, is_exact=True)
        return cls(_selection(said, from_start=from_start), expression, is_exact=False)

    def fits(self, text: str | None) -> bool:
        return text is not None and _compiled(self.expression).search(text) is not None


@functools.lru_cache(maxsize=64)
def _compiled(expression: str) -> "re2._Regexp":
    return re2.compile(expression, _options())


def _options() -> re2.Options:
    options = re2.Options()
    options.case_sensitive = False
    options.dot_nl = True
    options.log_errors = False
    options.max_mem = _MOST_MEMORY
    return options


def _check(said: str) -> None:
    try:
        _compiled(said)
    except re2.error as error:
        why = error.args[0].decode() if isinstance(error.args[0], bytes) else error.args[0]
        raise exception.Invalid(f"{said!r} is no regular expression (of RE2): {why}") from error


def _like(said: str, *, from_start: bool) -> str:
    """Return the LIKE pattern of an expression with only ``^``, ``$``, ``.`` and ``.*``."""
    begins, ends = said.startswith("^"), re.search(r"(?<!\\)(?:\\\\)*\$\Z", said) is not None
    inner = said[begins : len(said) - ends]
    middle = "".join(map(_like_part, _PART.findall(inner)))
    return f"{'' if begins or from_start else '%'}{middle}{'' if ends else '%'}"


def _selection(said: str, *, from_start: bool) -> str:
    """Return a LIKE pattern for the literal beginning of all texts that an expression matches."""
    if "|" in said:
        return "%"
    begins = said.startswith("^")
    head = _BEGINNING.match(said, begins)
    parts = _PART.findall(head.group()) if head else []
    if head and said[head.end() :].startswith(_OPTIONAL):
        parts = parts[:-1]
    return f"{'' if begins or from_start else '%'}{''.join(map(_like_part, parts))}%"


def _like_part(part: str) -> str:
    if part == ".*":
        return "%"
    if part == ".":
        return "_"
    letter = part[-1]
    return f"\\{letter}" if letter in "%_\\" else letter
