"""How much of a file system something may have that its host keeps for itself."""

import pathlib
import shutil


def most(folder: pathlib.Path, *, said: int | None, parts: int) -> int:
    """Return how many bytes a folder may have, which need not be there yet; 0: any number.

    :param said: by the operator; None: nothing, so it is one of so many parts of its file system
    """
    if said is not None:
        return said
    there = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    return shutil.disk_usage(there).total // parts
