"""Lets a request say how long its token lives: Keystone's ``serve.py`` loads it, we do not.

A request with the header X-Token-Seconds gets a token that lives so long.
"""

import keystone.conf


def wrap(application):
    def ask(environ, start_response):
        seconds = environ.get("HTTP_X_TOKEN_SECONDS")
        if seconds is None:
            return application(environ, start_response)
        keystone.conf.CONF.set_override("expiration", int(seconds), "token")
        try:
            return list(application(environ, start_response))
        finally:
            keystone.conf.CONF.clear_override("expiration", "token")

    return ask
