"""Serves Keystone on loopback; run by its own environment. Arguments: a configuration file, a port.

A request with the header X-Token-Seconds gets a token that lives so long. Requests are served one
by one: Keystone reads before it writes, and SQLite refuses who then finds another writing (500).
"""

import os
import sys

os.environ["OS_KEYSTONE_CONFIG_FILES"] = sys.argv[1]
_PORT = int(sys.argv[2])
del sys.argv[1:]  # Keystone would read them, too

import keystone.conf
from cheroot import wsgi
from keystone.server.wsgi import initialize_public_application

_serve = initialize_public_application()


def application(environ, start_response):
    seconds = environ.get("HTTP_X_TOKEN_SECONDS")
    if seconds is None:
        return _serve(environ, start_response)
    keystone.conf.CONF.set_override("expiration", int(seconds), "token")
    try:
        return list(_serve(environ, start_response))
    finally:
        keystone.conf.CONF.clear_override("expiration", "token")


wsgi.Server(("127.0.0.1", _PORT), application, numthreads=1).start()
