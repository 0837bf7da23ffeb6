"""Serves Glance on loopback: run by the Python of its own environment, with a port.

Instead of Keystone, the token itself says who asks: ``user:project:role``. Everything behind that,
policies included, is Glance as it is.
"""

import os
import pathlib
import sys

from cheroot import wsgi

KNOWN = ("admin", "member", "reader", "service")


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
    os.environ["OS_GLANCE_CONFIG_DIR"] = str(pathlib.Path.cwd())
    from glance.wsgi.api import application

    server = wsgi.Server(("127.0.0.1", int(sys.argv[1])), trusting(application), numthreads=8)
    try:
        server.start()
    except (KeyboardInterrupt, SystemExit):
        server.stop()


if __name__ == "__main__":
    main()
