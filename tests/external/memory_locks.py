"""Run a command, and what it starts, on a machine that lets nobody raise a limit of locked memory.

libvirt raises that of guests that lock theirs, which takes ``CAP_SYS_RESOURCE``, and containers
seldom have it. Here the system says that it is done, and leaves the limit as it is. So memory is
locked by who needs no limit, since ``CAP_IPC_LOCK`` is theirs, or by nobody.
"""

import ctypes
import os
import platform
import resource
import struct
import sys
from collections.abc import Sequence
from typing import Final

_PRLIMIT: Final = {"x86_64": 302, "aarch64": 261}
_NUMBER, _WHICH, _NEW = 0, 24, 32  # where the kernel has the call, the limit and its new value
_LOAD, _IS, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _DONE = 0x7FFF0000, 0x00050000
_PR_SET_SECCOMP, _FILTER = 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


def may_be_raised() -> bool:
    """Tell whether this machine lets one raise the limit."""
    try:
        resource.setrlimit(resource.RLIMIT_MEMLOCK, [resource.RLIM_INFINITY] * 2)
    except (ValueError, OSError):
        return False
    return True


def pretend() -> None:
    """Have this process, and those that it starts, hear that limits were raised that were not."""
    steps = [
        (_LOAD, 0, 0, _NUMBER),
        (_IS, 0, 5, _PRLIMIT[platform.machine()]),
        (_LOAD, 0, 0, _WHICH),
        (_IS, 0, 3, resource.RLIMIT_MEMLOCK),
        (_LOAD, 0, 0, _NEW),
        (_IS, 1, 0, 0),  # they only ask
        (_RETURN, 0, 0, _DONE),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = b"".join(struct.pack("HBBI", *step) for step in steps)
    program = _Program(len(steps), code)
    system = ctypes.CDLL(None, use_errno=True)
    if system.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(program), 0, 0):
        raise OSError(ctypes.get_errno(), "the system takes no filter")


def main(command: Sequence[str]) -> None:
    if not may_be_raised():
        pretend()
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
