"""Lets a token say who asks, ``user:project:role``: Glance's ``serve.py`` loads it, we do not.

Everything behind that, policies included, is Glance as it is.
"""

KNOWN = ("admin", "member", "reader", "service")


def wrap(application):
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
        return application(environ, start_response)

    return ask
