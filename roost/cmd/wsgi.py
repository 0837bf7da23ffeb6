"""``roost.cmd.wsgi:application`` for gunicorn, uWSGI and the like.

The environment variable ``ROOST_CONFIG`` names configuration files, separated by colons; without
it ``/etc/roost/roost.conf`` is read. Nothing is opened before the first request, so servers may
load this module before they fork.
"""

import os

from roost import concurrency

ARGUMENTS = [
    f"--config-file={name}" for name in os.environ.get("ROOST_CONFIG", "").split(":") if name
]
concurrency.select(ARGUMENTS)

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from roost.api.admission import Wsgi


class Application:
    """The API; each process makes it at its first request.

    :param make: a command line -> the application
    """

    def __init__(self, arguments: Sequence[str], make: Callable[[Sequence[str]], Wsgi]) -> None:
        self._arguments = arguments
        self._make = make
        self._made: Wsgi | None = None
        self._making = threading.Lock()

    def __call__(
        self, environ: dict[str, Any], start_response: Callable[..., Any]
    ) -> Iterable[bytes]:
        with self._making:
            if self._made is None:
                self._made = self._make(self._arguments)
        return self._made(environ, start_response)


def _make(arguments: Sequence[str]) -> Wsgi:
    from roost.cmd import api

    return api.app_of(arguments, listens=False)


application = Application(ARGUMENTS, _make)
