"""The files that daemons of a rig read."""

import pathlib
from collections.abc import Mapping
from typing import Any

Options = Mapping[str, Mapping[str, Any]]  # by group


def merged(under: Options, over: Options) -> dict[str, dict[str, Any]]:
    """Return the options of both; ``over`` counts where both name one."""
    groups = [*under, *(group for group in over if group not in under)]
    return {group: {**under.get(group, {}), **over.get(group, {})} for group in groups}


def config_text(options: Options) -> str:
    """Write options as a configuration file."""
    groups = []
    for group, values in options.items():
        lines = [f"{name} = {_config_value(value)}" for name, value in values.items()]
        groups.append("\n".join([f"[{group}]", *lines]))
    return "\n\n".join(groups) + "\n"


def _config_value(value: Any) -> str:
    text = ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return text.replace("$", "$$")


def write_secret(file: pathlib.Path, text: str) -> None:
    """Write what only we may read; there are passwords in it."""
    file.touch(mode=0o600)
    file.chmod(0o600)
    file.write_text(text)
