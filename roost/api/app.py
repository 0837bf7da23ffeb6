"""The WSGI application of the API: the routes, and the middleware before them."""

from typing import Any

import falcon
import orjson
from falcon.media import JSONHandler

from roost.api import dispatch, faults, middleware
from roost.api.dependencies import Dependencies
from roost.api.dispatch import ProjectPaths
from roost.api.legacy import removed
from roost.api.placement.errors import WRITE_ONLY
from roost.api.placement.microversions import PlacementMicroversions


def make_app(dependencies: Dependencies) -> faults.App:
    """Return the WSGI application: its routes, served by ``dependencies``. Does no I/O.

    A request passes, from the outside in:

    1. request id, first, so that all later failures can be found in the log; then the
       normalization of the path;
    2. microversion, before authentication, because refusals have the version headers, too;
    3. authentication, which makes the context;
    4. the project in the path, which must be the caller's and is removed: routes have none;
    5. Falcon's router (404 and 405 in our shape, with the headers of 1 and 2);
    6. the dispatcher of the path (``dispatch.py``): version, policy, query, body, in this order,
       so that error messages reveal nothing to callers without permission; then the handler.

    ``faults.py``, the only module that knows the HTTP form of errors, handles those of all steps.
    """
    passed: list[Any] = [
        middleware.RequestIds(),
        middleware.Slashes(),
        middleware.LegacyPaths(),
        middleware.Microversions(),
        PlacementMicroversions(),
        dependencies.authentication,
        ProjectPaths(dependencies.routes),
    ]
    app = falcon.App(middleware=passed)
    app.req_options.strip_url_path_trailing_slash = True
    app.req_options.keep_blank_qs_values = True
    app.req_options.auto_parse_qs_csv = False
    app.resp_options.media_handlers[falcon.MEDIA_JSON] = JSONHandler(dumps=orjson.dumps)
    faults.install(app)
    for path, resource in removed.beside(dispatch.dispatchers(dependencies)).items():
        read = getattr(resource, "on_get", None)
        if read is not None:
            setattr(resource, "on_head", read)  # noqa: B010 - Falcon finds it by its name
        app.add_route(path, resource)
    for path in WRITE_ONLY:
        app.add_route(path, object())
    return app
