"""Who would have more than they may is refused by each service that we stand for in its own way."""

import contextlib
from collections.abc import Iterator
from typing import Final

import falcon

from roost import exception

ADVICE: Final = "Delete some that are not needed, or ask an administrator for a higher limit."


@contextlib.contextmanager
def of_network() -> Iterator[None]:
    """Tell it as Network does: as a conflict."""
    try:
        yield
    except exception.QuotaExceeded as error:
        raise exception.Conflict(f"{error.message}. {ADVICE}") from error


@contextlib.contextmanager
def of_images() -> Iterator[None]:
    """Tell it as Image does: as more than there may be."""
    try:
        yield
    except exception.QuotaExceeded as error:
        raise falcon.HTTPContentTooLarge(description=error.message) from error
