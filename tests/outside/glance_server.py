"""Serves Glance on loopback: run by the Python of its own environment, with a port.

With ``judged`` behind the port, keystonemiddleware judges tokens, as its configuration says. With
``trusted``, the token itself says who asks: ``user:project:role``. Everything behind that, policies
included, is Glance as it is.
"""

import os
import pathlib
import sys

from cheroot import wsgi

KNOWN = ("admin", "member", "reader", "service")


class KeptOpen:
    """What a request brings, which the application cannot close.

    Glance closes what it has read, and behind chunks cheroot hands it the connection itself: the
    next request on it would be answered with 500, or the connection be reset.
    """

    def __init__(self, body):
        self._body = body

    def __getattr__(self, name):
        return getattr(self._body, name)

    def __iter__(self):
        return iter(self._body)

    def close(self):
        """Leave it to the server."""


def kept_open(app):
    """Keep what requests bring from being closed by the application."""

    def ask(environ, start_response):
        return app(
            environ | {"wsgi.input": KeptOpen(environ["wsgi.input"])},
            start_response,
        )

    return ask


def trusting(app):
    """Tell the application who asks, in the headers that Keystone's middleware sets."""

    def ask(environ, start_response):
        user, _, rest = environ.get("HTTP_X_AUTH_TOKEN", "").partition(":")
        project, _, role = rest.partition(":")
        if environ["PATH_INFO"].strip("/") and role not in KNOWN:
            start_response("401 Unauthorized", [("Content-Length", "0")])
            return [b""]
        environ |= {
            "HTTP_X_IDENTITY_STATUS": "Confirmed",
            "HTTP_X_USER_ID": user,
            "HTTP_X_PROJECT_ID": project,
            "HTTP_X_ROLES": {"admin": "admin,member,reader", "member": "member,reader"}.get(
                role, role
            ),
        }
        return app(environ, start_response)

    return ask


def main():
    port, judged = int(sys.argv[1]), sys.argv[2] == "judged"
    del sys.argv[1:]  # keystonemiddleware would read them, too
    os.environ["OS_GLANCE_CONFIG_DIR"] = str(pathlib.Path.cwd())
    from glance.wsgi.api import application

    app = kept_open(application if judged else trusting(application))
    server = wsgi.Server(("127.0.0.1", port), app, numthreads=8)
    try:
        server.start()
    except (KeyboardInterrupt, SystemExit):
        server.stop()


if __name__ == "__main__":
    main()
