"""A cluster of three private RabbitMQ nodes on loopback, one of which at a time may be killed."""

import json
import pathlib
import secrets
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

from roost.rig.services.private import free_port
from roost.rig.services.rabbitmq import Cluster, RabbitMQ

# What doc/bus.rst asks of daemons on a cluster.
OPTIONS = {"rabbit_quorum_queue": "true", "rabbit_transient_quorum_queue": "true"}
PATIENCE = 60.0  # seconds


class RabbitCluster:
    """Three nodes that know each other; ends what it starts."""

    def __init__(self, folder: pathlib.Path):
        prefix = f"roost-{secrets.token_hex(4)}"
        self.names = [f"{prefix}-{number}@localhost" for number in (1, 2, 3)]
        self._dead = None  # the number of the node that was killed
        self._vhosts = []
        common = Cluster(secrets.token_hex(16), free_port(), self.names)

        def start(name):
            return RabbitMQ.start(folder / name, cluster=common, node=name)

        with ThreadPoolExecutor(len(self.names)) as pool:
            self.nodes = list(pool.map(start, self.names))

    def create_vhost(self, name):
        """Make an empty virtual host and return its transport URL, which names all nodes."""
        parts = [urlsplit(node.url(name)) for node in self.nodes]
        self.mend()
        self.nodes[0].create_vhost(name)
        self._vhosts.append(name)
        return parts[0]._replace(netloc=",".join(part.netloc for part in parts)).geturl()

    def kill(self, number):
        """End a node as a crash does, once all three have all queues."""
        self.mend()
        self._dead = number
        self.nodes[number].halt(signal.SIGKILL)

    def kill_next(self):
        """Kill the node after the one that was killed last."""
        self.kill(0 if self._dead is None else (self._dead + 1) % len(self.nodes))

    def mend(self):
        """Let a dead node come back; return when all three have all queues."""
        if self._dead is not None:
            self.nodes[self._dead].revive()
            self._dead = None
        deadline = time.monotonic() + PATIENCE
        while not all(self._is_whole(vhost) for vhost in self._vhosts):
            assert time.monotonic() < deadline, "some queue has not three living members"
            time.sleep(0.2)

    def leader(self, vhost, queue):
        """Return the number of the node that leads a queue."""
        return self.names.index(self._queues(vhost, "leader")[queue]["leader"])

    def close(self):
        """End all nodes, and remove what they had."""
        with ThreadPoolExecutor(len(self.nodes)) as pool:
            list(pool.map(RabbitMQ.stop, reversed(self.nodes)))

    def _is_whole(self, vhost):
        """Classic queues, which have one place only, count as whole."""
        found = self._queues(vhost, "online").values()
        return all(not q["online"] or len(q["online"]) == len(self.nodes) for q in found)

    def _queues(self, vhost, *columns):
        """Return what the nodes tell of the quorum queues of a virtual host, by name."""
        command = ("list_queues", "--vhost", vhost, "--formatter", "json", "name", *columns)
        told = json.loads(self.nodes[0]._administration._run(*command))
        return {values.pop("name"): values for values in told}
