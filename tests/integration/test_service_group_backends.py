"""Groups by tooz keep their promises in etcd and memcached, too; in Redis, see the next module.

Time cannot be turned there, so it passes.
"""

import base64
import contextlib
import shutil
import socket
import subprocess
import time

import pymemcache
import pytest
import requests

from tests.builders import CELL1, CELL2
from tests.fakes.service_groups import ToozWorld
from tests.stories.cloud import wait_until
from tests.stories.service_groups import *  # noqa: F403
from tests.stories.tooz_groups import *  # noqa: F403


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@contextlib.contextmanager
def running(program, *arguments, port):
    """A server of our own."""
    path = shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin")
    assert path, f"{program} is not installed; sh tools/packages.sh does that"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([path, *arguments], **quiet) as process:
        try:
            wait_until(lambda: answers(port), f"{program} at port {port}")
            yield
        finally:
            process.terminate()


def answers(port):
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


class EtcdWorld(ToozWorld):
    """Groups in an etcd that nobody else uses."""

    nowhere = "etcd3+http://127.0.0.1:1"
    _all = base64.b64encode(b"\0").decode()

    def __init__(self, port):
        self._api = f"http://127.0.0.1:{port}/v3/kv"
        super().__init__(f"etcd3+http://127.0.0.1:{port}")

    def later(self, seconds):
        time.sleep(seconds)

    def traces(self):
        return self._ask("range").get("kvs", [])

    def forget(self):
        self._ask("deleterange")

    def close(self):
        super().close()
        self.forget()

    def _ask(self, what):
        everything = {"key": self._all, "range_end": self._all}
        return requests.post(f"{self._api}/{what}", json=everything, timeout=5).json()


class MemcachedWorld(ToozWorld):
    """Groups in a memcached that nobody else uses."""

    nowhere = "memcached://127.0.0.1:1"

    def __init__(self, port):
        self._client = pymemcache.Client(("127.0.0.1", port))
        super().__init__(f"memcached://127.0.0.1:{port}")

    def later(self, seconds):
        time.sleep(seconds)

    def traces(self):
        groups = [f"_TOOZ_GROUP_roost-{cell}" for cell in (CELL1, CELL2)]
        return list(self._client.get_many(groups))

    def forget(self):
        self._client.flush_all()

    def close(self):
        super().close()
        self.forget()
        self._client.close()


@pytest.fixture(scope="module")
def etcd(tmp_path_factory):
    port, peers = free_port(), f"http://127.0.0.1:{free_port()}"
    ours = f"http://127.0.0.1:{port}"
    addresses = {
        "--listen-client-urls": ours,
        "--advertise-client-urls": ours,
        "--listen-peer-urls": peers,
        "--initial-advertise-peer-urls": peers,
        "--initial-cluster": f"default={peers}",
        "--data-dir": str(tmp_path_factory.mktemp("etcd")),
    }
    with running("etcd", *(word for pair in addresses.items() for word in pair), port=port):
        yield EtcdWorld, port


@pytest.fixture(scope="module")
def memcached():
    port = free_port()
    options = ("-u", "nobody", "-l", "127.0.0.1", "-p", str(port))
    with running("memcached", *options, port=port):
        yield MemcachedWorld, port


@pytest.fixture(params=["etcd", "memcached"])
def world(request):
    """Groups in each service in turn."""
    kind, port = request.getfixturevalue(request.param)
    made = kind(port)
    yield made
    made.close()
