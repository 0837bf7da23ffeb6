"""What workers share with the process that forks them."""

import gc


def share() -> None:
    """Let the workers that are forked next share the memory of all that is loaded by now.

    A collection of garbage writes into every object that it looks at, and so makes each worker a
    copy of its own of what it inherited; it does not look at what is frozen (:func:`gc.freeze`).
    """
    gc.collect()
    gc.freeze()
