"""A bus that keeps what is cast, and can be away."""

import oslo_messaging as messaging


class RecordingBus:
    """Takes casts of any interface: ``sent`` holds (server, method, arguments).

    ``deaf``: servers that nobody listens for.
    """

    def __init__(self):
        self.sent = []
        self.contexts = []
        self.away = False
        self.deaf = set()

    def client(self, topic, version_cap=None):
        return _Client(self, topic)

    def check_replies(self):
        pass

    def close(self):
        pass

    def methods(self):
        return [method for _server, method, _arguments in self.sent]


class _Client:
    def __init__(self, bus, topic, server=None):
        self._bus, self._topic, self._server = bus, topic, server

    def prepare(self, *, server, version, timeout):
        return _Client(self._bus, self._topic, server)

    def cast(self, context, method, **arguments):
        if self._bus.away or self._server in self._bus.deaf:
            raise messaging.MessageDeliveryFailure("the broker is away")
        self._bus.contexts.append(context)
        self._bus.sent.append((self._server, method, arguments))

    def call(self, context, method, **arguments):
        """Take a call as well; the answer is nothing."""
        self.cast(context, method, **arguments)
