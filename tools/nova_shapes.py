"""Print what Nova says about its answers, as JSON; run by a Python that has Nova.

A list of operations: ``method`` and ``path``, the ``action`` that a body names (or ""), whether it
is ``gone`` for good, and the minor microversions ``since`` and ``until`` which it is served.
``statuses`` and ``bodies`` are lists of ``[since, until, status or schema]``; what has no status
there answers 200, or sets one itself.
"""

import json
import sys
from collections.abc import Iterator
from typing import Any

from nova.api.openstack.compute.routes import ROUTE_LIST

_EVER = 10**6


def operations() -> Iterator[dict[str, Any]]:
    for path, methods in ROUTE_LIST:
        if isinstance(methods, str):  # where a redirection goes
            continue
        for method, (controller, name) in methods.items():
            main, more = controller.args
            for action, function in _functions(main, more, name).items():
                yield {"method": method, "path": path, "action": action, **_told(function)}


def _functions(main: type, more: list[type], name: str) -> dict[str, Any]:
    if name != "action":
        return {"": getattr(main, name)}
    return {
        action: getattr(each, function)
        for each in (main, *more)
        for action, function in each.wsgi_actions.items()  # type: ignore[attr-defined]
    }


def _told(function: Any) -> dict[str, Any]:
    codes = function.wsgi_codes._codes if hasattr(function, "wsgi_codes") else []  # noqa: SLF001
    bodies = function.response_body_schemas._schemas  # noqa: SLF001
    return {
        "gone": hasattr(function, "removed"),
        "since": _minor(getattr(function, "min_version", None), 1),
        "until": _minor(getattr(function, "max_version", None), _EVER),
        "statuses": [(_minor(a, 1), _minor(b, _EVER), code) for code, a, b in codes],
        "bodies": [
            (since.ver_minor, until.ver_minor or _EVER, schema) for schema, since, until in bodies
        ],
    }


def _minor(version: str | None, otherwise: int) -> int:
    return int(version.partition(".")[2]) if version else otherwise


if __name__ == "__main__":
    json.dump(list(operations()), sys.stdout)
