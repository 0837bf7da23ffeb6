"""What Keystone says about tokens is kept in a real memcached, for all workers."""

import pytest

from tests.integration.test_service_group_backends import free_port, running
from tests.unit.api.test_keystone_auth import ALICE, Door, identity, keystone_of

__all__ = ["identity", "keystone_of"]


@pytest.fixture(
    params=[
        {},
        {"memcache_use_advanced_pool": "false"},
        {"memcache_security_strategy": "ENCRYPT", "memcache_secret_key": "secret"},
    ],
    ids=["pool", "list", "encrypted"],
)
def worker(request, identity, keystone_of):
    """Make workers that keep tokens at a port, in each way in turn."""

    def worker(port):
        servers = f"127.0.0.1:{port}"
        return Door(keystone_of(identity.url, memcached_servers=servers, **request.param))

    return worker


def test_keystone_is_asked_once_for_all_workers(identity, worker):
    port = free_port()
    before = identity.asked
    with running("memcached", "-u", "nobody", "-l", "127.0.0.1", "-p", str(port), port=port):
        assert [worker(port).ask(ALICE).status_code for _ in range(3)] == [200] * 3
    assert identity.asked == before + 1


def test_while_memcached_is_away_keystone_is_asked_each_time(identity, worker):
    before = identity.asked
    away = worker(free_port())
    assert [away.ask(ALICE).status_code for _ in range(2)] == [200] * 2
    assert identity.asked == before + 2
