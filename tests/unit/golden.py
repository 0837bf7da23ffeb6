"""Golden files: what is pinned, and how a change on purpose is accepted."""

import json
import os
import pathlib


def check_golden(path: pathlib.Path, found: object) -> None:
    """Compare with the file; with ROOST_ACCEPT=1 in the environment the file is written instead."""
    if os.environ.get("ROOST_ACCEPT"):
        path.write_text(json.dumps(found, indent=2, sort_keys=True) + "\n")
    found = json.loads(json.dumps(found))  # tuples are lists there
    pinned = json.loads(path.read_text())
    assert found == pinned, (
        f"{path.name} pins what peers of other releases rely on. If the change is meant, raise the "
        "version of what you changed and run the test once with ROOST_ACCEPT=1."
    )
