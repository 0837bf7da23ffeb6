"""Files that a user puts into a new server, before microversion 2.57 ("personality")."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any, Final

from roost import exception
from roost.objects import InjectedFile

# Resource -> what a refusal says of it.
_SAID: Final = {
    "injected_files": "Personality file limit exceeded: {asked} files, but at most {most}",
    "injected_file_path_bytes": "Personality file path exceeds maximum {most}",
    "injected_file_content_bytes": "Personality file content exceeds maximum {most}",
}


def files_of(asked: Mapping[str, Any]) -> list[InjectedFile]:
    """Return the files in the order that they were sent."""
    return [InjectedFile.of(**file) for file in asked.get("personality") or []]


def check(files: Sequence[InjectedFile], *, limits: Mapping[str, int]) -> None:
    """Make sure that a project may inject all of this; contents count as the guest finds them.

    :param limits: of the project by resource; -1: none
    :raises roost.exception.QuotaExceeded: when it may not
    """
    sizes = {
        "injected_files": len(files),
        "injected_file_path_bytes": max((len(file.path.encode()) for file in files), default=0),
        "injected_file_content_bytes": max((_size(file) for file in files), default=0),
    }
    for name, size in sizes.items():
        if 0 <= limits[name] < size:
            raise exception.QuotaExceeded(
                _SAID[name].format(asked=size, most=limits[name]),
                resources=[name],
                asked={name: size},
                limits={name: limits[name]},
            )


def _size(file: InjectedFile) -> int:
    return len(base64.b64decode(file.contents))
