"""Files by their path, and what is in a folder of them."""

from collections.abc import Iterable

Tree = dict[str, bytes]


def below(folder: str, files: Tree) -> Tree:
    """Return the same files in a folder."""
    return {f"{folder}/{path}": data for path, data in files.items()}


def entries(paths: Iterable[str], folder: str) -> list[str]:
    """Return what a folder has, in order; names of folders end in a slash. Empty: no such folder.

    :param folder: without slashes at its ends; empty: the top
    """
    prefix = f"{folder}/" if folder else ""
    rests = (path.removeprefix(prefix) for path in paths if path.startswith(prefix))
    return list(dict.fromkeys(_first(rest) for rest in rests))


def _first(path: str) -> str:
    name, slash, _ = path.partition("/")
    return name + slash
