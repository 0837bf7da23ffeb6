"""Networks, subnets and ports of a project, whoever else makes some: never more than may be."""

from concurrent import futures

import pytest
import sqlalchemy as sa

from roost import exception
from roost.db.api import networks, ports, quota
from roost.db.engine import retried
from tests.builders import NOW, a_uuid

MOST = 4
LIMITS = {"networks": MOST, "subnets": MOST, "ports": MOST}
UNLIMITED = dict.fromkeys(LIMITS, -1)


@pytest.fixture
def many():
    """Call a function so often at once; return what that returned or raised."""

    def many(function, times=3 * MOST):
        with futures.ThreadPoolExecutor(times) as executor:
            running = [executor.submit(function) for _ in range(times)]
            return [one.exception() or one.result() for one in running]

    return many


@pytest.fixture
def used(api_db):
    def used(project="project"):
        with api_db.read() as session:
            return ports.usage(session, project)

    return used


def a_network(**values):
    made = {"id": a_uuid(), "project_id": "project", "name": "", "description": ""}
    made |= {"shared": False, "cidr": None, "subnet_name": None, "created_at": NOW}
    return networks.Network(**made | values)


def a_port():
    made = {"id": a_uuid(), "project_id": "project", "network_id": a_uuid(), "name": ""}
    made |= {"description": "", "instance_uuid": None, "created_at": NOW, "mac": a_uuid()[:17]}
    return ports.MadePort(ip="10.0.0.9", **made)


@pytest.fixture
def network(api_db):
    @retried
    def network(limits=LIMITS):
        made = a_network()
        with api_db.begin() as session:
            networks.create(session, made, defaults=limits)
        return made

    return network


@pytest.fixture
def port(api_db):
    @retried
    def port():
        with api_db.begin() as session:
            ports.create(session, a_port(), defaults=LIMITS)

    return port


@pytest.fixture
def boot(api_db):
    """Make a server with two ports, as far as there may be more; tell whether it was."""

    @retried
    def boot(each=2):
        with api_db.begin() as session:
            quota.lock(session, "project")
            room = ports.port_room(session, "project", limit=MOST, most=each)
            if room == each:
                ports.boot(session, "project", [a_uuid()], each=each)
            return room == each

    return boot


def refused(done):
    assert all(one is None or not isinstance(one, Exception) or _is_over(one) for one in done), done
    return sum(isinstance(one, Exception) for one in done)


def _is_over(error):
    return isinstance(error, exception.QuotaExceeded)


def test_of_many_who_make_networks_as_many_succeed_as_may(network, many, used):
    assert refused(many(network)) == 2 * MOST
    assert used()["networks"] == MOST


def test_of_many_who_make_subnets_as_many_succeed_as_may(api_db, network, used):
    bare = [network(UNLIMITED) for _ in range(3 * MOST)]
    with futures.ThreadPoolExecutor(3 * MOST) as executor:
        running = [executor.submit(_give, api_db, one) for one in bare]
        done = [one.exception() for one in running]
    assert refused(done) == 2 * MOST
    assert used()["subnets"] == MOST


@retried
def _give(api_db, network):
    with api_db.begin() as session:
        how = {"cidr": "10.0.0.0/24", "name": "", "defaults": LIMITS}
        networks.give_subnet(session, network, **how)


def test_of_many_who_make_ports_as_many_succeed_as_may(port, many, used):
    assert refused(many(port)) == 2 * MOST
    assert used()["ports"] == MOST


def test_of_many_who_boot_servers_as_many_succeed_as_there_may_be_ports_for(boot, many, used):
    assert sum(many(boot)) == MOST // 2
    assert used()["ports"] == MOST


def test_servers_and_ports_made_beforehand_share_a_limit(boot, port, many, used):
    def either():
        with futures.ThreadPoolExecutor(2) as executor:
            both = [executor.submit(boot), executor.submit(port)]
            return [one.exception() or one.result() for one in both]

    many(either, MOST)
    assert used()["ports"] == MOST or (used()["ports"] == MOST - 1 and not boot())


def test_what_is_made_once_more_counts_once(api_db, used):
    network, port = a_network(), a_port()
    one = {"networks": 1, "subnets": 1, "ports": 1}
    for _ in range(2):
        with api_db.begin() as session:
            networks.create(session, network, defaults=one)
            how = {"cidr": "10.0.0.0/24", "name": "", "defaults": one}
            networks.give_subnet(session, network, **how)
            assert ports.create(session, port, defaults=one)
    assert used() == one


def test_others_do_not_count(network, used):
    network()
    assert used("other") == {"networks": 0, "subnets": 0, "ports": 0}


def test_only_what_is_asked_for_and_limited_is_counted(api_db):
    def counted(limits, **asked):
        seen.clear()
        with api_db.begin() as session:
            ports.check(session, "project", limits, **asked)
        names = ("networks", "made_ports", "server_ports")
        return {name for name in names for statement in seen if f"FROM {name}" in statement}

    seen = []
    sa.event.listen(api_db.engine, "before_cursor_execute", lambda *_: seen.append(_[2]))
    assert counted(LIMITS, ports=1) == {"made_ports", "server_ports"}
    assert counted(LIMITS, subnets=1) == {"networks"}
    assert counted(UNLIMITED, ports=1, networks=1) == set()
