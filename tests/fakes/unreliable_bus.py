"""A hostile bus beneath real transports: what this process sends is lost, doubled, late, reordered.

For daemons of this process on a real broker. The seed decides what happens to the how-manieth
message; which message that is, threads decide.
"""

import contextlib
import random
import threading
import time
from unittest import mock

import oslo_messaging as messaging

LONGEST = 3.0  # seconds that a message is late, or that a caller waits for a lost answer


class HostileBus:
    """Between our RPC and its transports, as long as ``with`` lasts; what is late comes later.

    ``happened`` counts what was done to messages.
    """

    def __init__(self, seed, *, lost=0.06, doubled=0.08, late=0.12):
        self.happened = {"sent": 0, "lost": 0, "doubled": 0, "late": 0, "answers lost": 0}
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._chances = {"lost": lost, "doubled": doubled, "late": late, "answers lost": lost}
        self._really = messaging.transport.RPCTransport._send

    def __enter__(self):
        bus = self

        def send(transport, target, ctxt, message, wait_for_reply=None, timeout=None, **more):
            def really(**how):
                return bus._really(transport, target, ctxt, message, **how, **more)

            if wait_for_reply:
                return bus._call(really, timeout)
            return bus._cast(really)

        self._patch = mock.patch.object(messaging.transport.RPCTransport, "_send", send)
        self._patch.start()
        return self

    def __exit__(self, *_details):
        self._patch.stop()

    def _cast(self, really):
        fates = self._fates("lost", "doubled", "late")
        if "lost" in fates:
            return
        if "doubled" in fates:
            self._later(really)
        if "late" in fates:
            self._later(really)
        else:
            really()

    def _call(self, really, timeout):
        fates = self._fates("lost", "doubled", "late", "answers lost")
        if "lost" in fates:
            _time_out(timeout)
        if "late" in fates:
            time.sleep(self._random.uniform(0, 1))
        if "doubled" in fates:
            self._later(really)
        answer = really(wait_for_reply=True, timeout=timeout)
        if "answers lost" in fates:
            _time_out(timeout)
        return answer

    def _fates(self, *possible):
        with self._lock:
            self.happened["sent"] += 1
            fates = {fate for fate in possible if self._random.random() < self._chances[fate]}
            for fate in fates:
                self.happened[fate] += 1
            return fates

    def _later(self, really):
        def send():
            with contextlib.suppress(messaging.MessagingException):
                really()

        timer = threading.Timer(self._random.uniform(0, LONGEST), send)
        timer.daemon = True
        timer.start()


def _time_out(timeout):
    time.sleep(min(timeout or LONGEST, LONGEST))
    raise messaging.MessagingTimeout("the hostile bus has it")
