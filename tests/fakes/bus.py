"""A bus that keeps what is cast, and can be away."""

import oslo_messaging as messaging

from roost import exception

_TRAFFIC = [
    f"{way}_{unit}"
    for way in ("rx", "tx")
    for unit in ("octets", "packets", "errors", "drop", "rate")
]
_DISK = ("read_bytes", "read_requests", "write_bytes", "write_requests", "errors_count")
A_GUEST_THAT_IDLES = {
    "state": "running",
    "driver": "libvirt",
    "hypervisor": "fake",
    "hypervisor_os": "none",
    "uptime": 7,
    "memory_details": {"maximum": 512, "used": 3},
    "cpu_details": [{"id": 0, "time": 5, "utilisation": 1}],
    "nic_details": [{"mac_address": "m", **dict.fromkeys(_TRAFFIC, 0), "rx_octets": 2}],
    "disk_details": [{**dict.fromkeys(_DISK, 0), "read_bytes": 4}],
}


class RecordingBus:
    """Takes casts of any interface: ``sent`` holds (server, method, arguments).

    ``deaf``: servers that nobody listens for. ``answers``: what calls of a method return or
    raise; a function is given their arguments.
    """

    def __init__(self):
        self.sent = []
        self.contexts = []
        self.away = False
        self.deaf = set()
        self.hears = {}  # functions that are called with the messages of a method
        self.answers = {
            "get_console_output": "",
            "get_diagnostics": A_GUEST_THAT_IDLES,
            "open_console": {"host": "192.0.2.7", "port": 6900},
        }

    def client(self, topic, version_cap=None):
        return _Client(self, topic)

    def check_replies(self):
        pass

    def ping(self, *, seconds):
        if self.away:
            raise exception.Unavailable("the broker is away")

    def close(self):
        pass

    def methods(self):
        return [method for _server, method, _arguments in self.sent]


class _Client:
    def __init__(self, bus, topic, server=None):
        self._bus, self._topic, self._server = bus, topic, server

    def prepare(self, *, server, version, timeout, call_monitor_timeout=None):
        return _Client(self._bus, self._topic, server)

    def cast(self, context, method, **arguments):
        if self._bus.away or self._server in self._bus.deaf:
            raise messaging.MessageDeliveryFailure("the broker is away")
        self._bus.contexts.append(context)
        self._bus.sent.append((self._server, method, arguments))
        if method in self._bus.hears:
            self._bus.hears[method](**arguments)

    def call(self, context, method, **arguments):
        """Take a call as well; the answer is what ``answers`` has for the method, or nothing."""
        self.cast(context, method, **arguments)
        answer = self._bus.answers.get(method)
        if isinstance(answer, Exception):
            raise answer
        return answer(**arguments) if callable(answer) else answer
