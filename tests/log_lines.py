"""Records log lines with the request that oslo.log prints beside each."""

import contextlib
import logging
from typing import NamedTuple

from oslo_context import context


class Line(NamedTuple):
    logger: str
    request_id: str | None
    text: str


class _Recorder(logging.Handler):
    def __init__(self):
        super().__init__()
        self.lines = []

    def emit(self, record):
        found = context.get_current()
        request_id = found and found.request_id
        self.lines.append(Line(record.name, request_id, record.getMessage()))


@contextlib.contextmanager
def recorded():
    """Record what Roost's daemons log in this process, from INFO."""
    logger, recorder = logging.getLogger("roost"), _Recorder()
    before = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(recorder)
    try:
        yield recorder.lines
    finally:
        logger.removeHandler(recorder)
        logger.setLevel(before)
