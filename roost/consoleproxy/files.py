"""The files of noVNC and spice-html5, from the folders that options name, and no others."""

import dataclasses
import mimetypes
import pathlib
import urllib.parse
from collections.abc import Mapping
from typing import Final

# Browsers run no module of another type, and systems do not agree on it.
_TYPES: Final = {".js": "text/javascript", ".mjs": "text/javascript", ".json": "application/json"}
_OTHER: Final = "application/octet-stream"


@dataclasses.dataclass(frozen=True)
class File:
    content_type: str
    data: bytes


def find(folders: Mapping[str, pathlib.Path], target: str) -> File | None:
    """Return the file that a request asks for; None: there is none.

    :param folders: by the first part of paths that lead there; the empty one has all else
    :param target: path and query
    """
    asked = urllib.parse.unquote(target.partition("?")[0].partition("#")[0])
    parts = pathlib.PurePosixPath(asked.lstrip("/")).parts
    if ".." in parts or "\0" in asked:
        return None
    if len(parts) > 1 and parts[0] in folders:
        folder, parts = folders.get(parts[0]), parts[1:]
    else:
        folder = folders.get("")
    if folder is None:
        return None
    path = folder.joinpath(*parts)
    return File(_type(path), path.read_bytes()) if path.is_file() else None


def _type(path: pathlib.Path) -> str:
    return _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0] or _OTHER
