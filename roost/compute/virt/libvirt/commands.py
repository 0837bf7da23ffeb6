"""Programs of the host that make disks."""

import logging
import subprocess
from typing import Final

from roost import exception

LOG = logging.getLogger(__name__)
_SECONDS: Final = 3600.0  # that a program gets for one disk


def run(program: str, *arguments: str) -> None:
    """Run a program to its end.

    :raises roost.exception.BuildFailed: when it fails, which the log has more of, or is not there
    """
    try:
        subprocess.run(  # noqa: S603 - our programs, without a shell
            [program, *arguments], check=True, capture_output=True, text=True, timeout=_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        said = getattr(error, "stderr", None) or error
        LOG.error("%s %s: %s", program, " ".join(arguments), said)  # noqa: TRY400
        raise exception.BuildFailed(f"A disk could not be made ({program}).") from error
