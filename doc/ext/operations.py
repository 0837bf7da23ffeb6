"""``.. operations::`` lists what the REST API serves; ``openapi.json`` is written beside the pages.

Both come from the document that roost-api itself serves.
"""

import json
import pathlib
from collections.abc import Iterator
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from roost.api import openapi
from roost.api.openapi import RANGE
from roost.standalone import tables

COLUMNS = (("request", 34), ("what", 30), ("since", 6), ("until", 6), ("answers", 10), ("rule", 30))


class Operations(Directive):
    """A section for each noun, with a table of its requests."""

    def run(self) -> list[nodes.Node]:
        document = openapi.document(tables.ROUTES)
        return [_section(tag["name"], document) for tag in document["tags"]]


def _section(tag: str, document: dict[str, Any]) -> nodes.Node:
    section = nodes.section(ids=[f"operations-{tag.lower()}"])
    section += nodes.title("", tag)
    section += _table([_row(*found) for found in _of(tag, document)])
    return section


def _of(tag: str, document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            if tag in operation["tags"]:
                yield path, method, operation


def _row(path: str, method: str, operation: dict[str, Any]) -> list[nodes.Node]:
    limits = operation.get(RANGE, {})
    good = ", ".join(status for status in operation["responses"] if status < "300")
    return [
        nodes.literal("", f"{method.upper()} {path}"),
        nodes.Text(operation["summary"]),
        nodes.Text(limits.get("min-version", "")),
        nodes.Text(limits.get("max-version", "")),
        nodes.Text(good),
        nodes.literal("", operation["x-roost-policy"]["rule"]),
    ]


def _table(rows: list[list[nodes.Node]]) -> nodes.table:
    group = nodes.tgroup(cols=len(COLUMNS))
    group += [nodes.colspec(colwidth=width) for _, width in COLUMNS]
    head, body = nodes.thead(), nodes.tbody()
    head += _line([nodes.Text(name) for name, _ in COLUMNS])
    body += [_line(row) for row in rows]
    group += [head, body]
    return nodes.table("", group)


def _line(cells: list[nodes.Node]) -> nodes.row:
    return nodes.row("", *(nodes.entry("", nodes.paragraph("", "", cell)) for cell in cells))


def _write(app: Sphinx, failed: Exception | None) -> None:
    if failed is None:
        document = json.dumps(openapi.document(tables.ROUTES), indent=1)
        (pathlib.Path(app.outdir) / "openapi.json").write_text(document)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("operations", Operations)
    app.connect("build-finished", _write)
    return {"parallel_read_safe": True}
