"""Files in which network drivers remember what they are to keep."""

import os
import pathlib


def write_whole(path: pathlib.Path, text: str) -> None:
    """Write a file that is there whole, or as it was, whatever ends us and whenever."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".part")
    with partial.open("w") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(path)
