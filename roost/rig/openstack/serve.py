"""Serve Keystone, Glance or Neutron on loopback: ``python -I serve.py NAME PORT FOLDER``.

Run by the Python of their own environment. FOLDER has the configuration files; modules in its
folder ``plug-ins`` can be imported, and so can their entry points. Where FOLDER has a
``filter.py``, all requests pass through what its function ``wrap`` makes of the application.

Keystone and Neutron serve one request at a time: they read before they write, and SQLite refuses
whoever finds another one writing then (500).
"""

import importlib.util
import os
import pathlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from cheroot import wsgi

Application = Callable[..., Any]


class KeptOpen:
    """What a request brings, which the application cannot close.

    Glance closes what it has read, and behind chunks cheroot hands it the connection itself: the
    next request on it would be answered with 500, or the connection be reset.
    """

    def __init__(self, body: Any) -> None:
        self._body = body

    def __getattr__(self, name: str) -> Any:
        return getattr(self._body, name)

    def __iter__(self) -> Iterator[bytes]:
        return iter(self._body)

    def close(self) -> None:
        """Leave it to the server."""


def kept_open(application: Application) -> Application:
    """Keep what requests bring from being closed by the application."""

    def ask(environ: Mapping[str, Any], start_response: Any) -> Any:
        body = KeptOpen(environ["wsgi.input"])
        return application({**environ, "wsgi.input": body}, start_response)

    return ask


def keystone(folder: pathlib.Path) -> Application:
    os.environ["OS_KEYSTONE_CONFIG_FILES"] = str(folder / "keystone.conf")
    from keystone.server.wsgi import initialize_public_application

    made: Application = initialize_public_application()
    return made


def glance(folder: pathlib.Path) -> Application:
    os.environ["OS_GLANCE_CONFIG_DIR"] = str(folder)
    from glance.wsgi.api import application

    return kept_open(application)


def neutron(folder: pathlib.Path) -> Application:
    os.environ["OS_NEUTRON_CONFIG_FILES"] = str(folder / "neutron.conf")
    from neutron.wsgi.api import application

    loaded: Application = application
    return loaded


def filtered(application: Application, file: pathlib.Path) -> Application:
    """Return what a module makes of the application; the application where there is none."""
    spec = importlib.util.spec_from_file_location("filter", file) if file.exists() else None
    if spec is None or spec.loader is None:
        return application
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    wrapped: Application = module.wrap(application)
    return wrapped


# Each with how many requests it serves at a time.
SERVICES = {"keystone": (keystone, 1), "glance": (glance, 8), "neutron": (neutron, 1)}


def main(name: str, port: int, folder: pathlib.Path) -> None:
    """Serve until a signal ends it; the port is taken first, for loading takes long."""
    sys.path.append(str(folder / "plug-ins"))
    load, threads = SERVICES[name]
    server = wsgi.Server(("127.0.0.1", port), None, numthreads=threads)
    try:
        server.prepare()
    except OSError as error:
        sys.exit(f"{name} cannot have port {port} of 127.0.0.1: {error}")
    server.wsgi_app = filtered(load(folder), folder / "filter.py")
    try:
        server.serve()
    except (KeyboardInterrupt, SystemExit):
        server.stop()


if __name__ == "__main__":
    words = sys.argv[1:]
    del sys.argv[1:]  # the services would read them, too
    main(words[0], int(words[1]), pathlib.Path(words[2]))
