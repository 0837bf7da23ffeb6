"""A service that hangs: it takes connections, and never answers."""

import contextlib
import socket


class Mute:
    def __init__(self, listening):
        self._listening = listening
        self._taken = []
        self.url = f"http://127.0.0.1:{listening.getsockname()[1]}"

    @property
    def connections(self):
        """How many have come so far."""
        with contextlib.suppress(BlockingIOError):
            while True:
                self._taken.append(self._listening.accept()[0])
        return len(self._taken)

    def close(self):
        for taken in self._taken:
            taken.close()


@contextlib.contextmanager
def listening():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.setblocking(False)
        mute = Mute(listener)
        yield mute
        mute.close()
