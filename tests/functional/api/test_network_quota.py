"""How many networks, subnets and ports a project may have, those of its servers included."""

from concurrent import futures

import pytest

from roost import exception, states
from roost.api.dependencies import ApiOptions
from roost.db.api import ports, quota
from roost.objects import NetworkInfo, NetworkRequest
from tests import api_harness
from tests.api_harness import ADMIN, IMAGE, PRIVATE, UNLIMITED
from tests.builders import CELL1, a_uuid, a_vif

ROOT = "/network/v2.0"
MOST = 3
QUOTA = {**UNLIMITED, "networks": MOST, "subnets": MOST, "ports": MOST}


@pytest.fixture(scope="module")
def options():
    """What the API is limited by."""
    return ApiOptions(quota=QUOTA)


@pytest.fixture(scope="module")
def world(tmp_path_factory, options):
    with api_harness.made_in(tmp_path_factory.mktemp("limited"), options) as world:
        yield world


@pytest.fixture
def project():
    """A project that has nothing yet."""
    return f"p{a_uuid()}"


@pytest.fixture
def ask(world, project):
    def ask(method, path, body=None, *, project=project, version="2.1"):
        more = {} if body is None else {"json": body}
        return world.client.ask(method, path, token=f"alice:{project}", version=version, **more)

    return ask


@pytest.fixture
def make(ask):
    """Make a network, a subnet or a port; return the answer."""

    def network(**how):
        return ask("POST", f"{ROOT}/networks", {"network": {"name": "n"}}, **how)

    def subnet(**how):
        made = network(**how)
        assert made.status_code == 201, made.text
        network_id = made.json["network"]["id"]
        subnet = {"network_id": network_id, "cidr": "10.8.0.0/24"}
        return ask("POST", f"{ROOT}/subnets", {"subnet": subnet}, **how)

    def port(**how):
        return ask("POST", f"{ROOT}/ports", {"port": {"network_id": PRIVATE.id}}, **how)

    kinds = {"network": network, "subnet": subnet, "port": port}
    return lambda noun, **how: kinds[noun](**how)


@pytest.fixture
def let(world):
    """Let a project have other limits than the usual ones."""

    def let(project, **limits):
        with world.api_db.begin() as session:
            quota.set_for_project(session, project, limits)

    return let


@pytest.fixture
def boot(ask):
    def boot(*networks, version="2.37", **values):
        server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE, **values}
        server["networks"] = list(networks) or "auto"
        return ask("POST", "/v2.1/servers", {"server": server}, version=version)

    return boot


@pytest.fixture
def used(world, project):
    def used(name="ports"):
        with world.api_db.read() as session:
            return ports.usage(session, project)[name]

    return used


def said(answer):
    (told,) = answer.json.values()
    return told["message"]


@pytest.mark.parametrize("noun", ["network", "subnet", "port"])
class TestWhatUsersMake:
    """Networks, subnets and ports."""

    @pytest.fixture(autouse=True)
    def may_have_networks(self, let, project, noun):
        if noun == "subnet":
            let(project, networks=-1)

    def test_over_the_limit_is_refused_and_after_a_delete_made_again(self, ask, make, noun, used):
        made = [make(noun) for _ in range(MOST)]
        refused = make(noun)
        assert refused.status_code == 409
        assert f"{noun}s: asked for 1, used 3 of 3. Delete some" in said(refused)
        assert used(f"{noun}s") == MOST
        path = f"{ROOT}/{noun}s/{made[0].json[noun]['id']}"
        assert ask("DELETE", path).status_code == 204
        assert make(noun).status_code == 201
        assert make(noun).status_code == 409

    def test_other_projects_have_limits_of_their_own(self, make, let, noun):
        other = f"p{a_uuid()}"
        let(other, networks=-1)
        for _ in range(MOST):
            make(noun)
        assert make(noun).status_code == 409
        assert make(noun, project=other).status_code == 201

    def test_without_a_limit_any_number_is_made(self, make, let, project, noun):
        let(project, **{f"{noun}s": -1})
        assert {make(noun).status_code for _ in range(MOST + 2)} == {201}

    def test_what_is_there_above_a_lower_limit_stays_and_is_deleted(
        self, ask, make, let, project, noun
    ):
        made = [make(noun).json[noun]["id"] for _ in range(MOST)]
        let(project, **{f"{noun}s": 1})
        shown = ask("GET", f"{ROOT}/{noun}s").json[f"{noun}s"]
        assert {one["id"] for one in shown} >= set(made)
        for one in made[:2]:
            assert make(noun).status_code == 409
            assert ask("DELETE", f"{ROOT}/{noun}s/{one}").status_code == 204
        assert make(noun).status_code == 409

    def test_of_many_at_once_as_many_succeed_as_may(self, make, used, let, project, noun):
        with futures.ThreadPoolExecutor(6) as executor:
            making = [executor.submit(make, noun) for _ in range(2 * MOST)]
            done = [one.result() for one in making]
        assert sorted(one.status_code for one in done) == [201] * MOST + [409] * MOST
        assert used(f"{noun}s") == MOST


def test_administrators_set_how_many_networks_a_project_has(world, make, project):
    path = f"/v2.1/os-quota-sets/{project}"
    for asked, done in (({"networks": 1}, 200), ({"networks": 1, "user_id": "x"}, 400)):
        assert world.client.put(path, {"quota_set": asked}, token=ADMIN).status_code == done
    assert [make("network").status_code for _ in range(2)] == [201, 409]
    raised = {"quota_set": {"networks": 2}}
    assert world.client.put(path, raised, token=ADMIN).status_code == 200
    assert [make("network").status_code for _ in range(2)] == [201, 409]
    lowered = {"quota_set": {"networks": 1}}
    assert world.client.put(path, lowered, token=ADMIN).status_code == 400
    assert world.client.put(f"{path}?user_id=alice", raised, token=ADMIN).status_code == 200


def test_of_security_groups_the_network_api_refuses_more_in_the_same_way(ask, let, project):
    let(project, security_groups=1)
    refused = ask("POST", f"{ROOT}/security-groups", {"security_group": {"name": "inside"}})
    assert refused.status_code == 409
    assert "security_groups: asked for 1, used 1 of 1. Delete some" in said(refused)


def test_a_server_counts_the_ports_that_are_made_with_it(boot, make, used):
    assert boot({"uuid": PRIVATE.id}, {"uuid": PRIVATE.id}).status_code == 202
    assert used() == 2
    assert make("port").status_code == 201
    refused = boot()
    assert refused.status_code == 403
    assert "Maximum number of ports exceeded: of 1 servers 0 may have their 1" in said(refused)
    assert "the limit is 3. Delete some" in said(refused)
    assert make("port").status_code == 409
    assert used() == MOST


def test_a_port_that_was_made_before_its_server_counts_once(make, boot, used):
    made = [make("port").json["port"]["id"] for _ in range(MOST)]
    assert boot({"port": made[0]}).status_code == 202
    assert used() == MOST


def test_a_refusal_counts_the_ports_that_are_to_be_made(make, boot):
    given, *_ = [make("port").json["port"]["id"] for _ in range(MOST)]
    refused = boot({"port": given}, {"uuid": PRIVATE.id})
    assert "of 1 servers 0 may have their 1, as the limit" in said(refused)


def test_a_server_without_interfaces_counts_none(make, boot, used, ask):
    for _ in range(MOST):
        make("port")
    server = {"name": "web", "flavorRef": "1", "imageRef": IMAGE, "networks": "none"}
    assert ask("POST", "/v2.1/servers", {"server": server}, version="2.37").status_code == 202
    assert used() == MOST


def test_fewer_servers_are_made_when_there_are_ports_for_no_more(world, boot, used, project):
    server = boot(min_count=1, max_count=5)
    assert (server.status_code, used()) == (202, MOST)
    listed = world.client.get("/v2.1/servers", token=f"alice:{project}").json["servers"]
    assert len(listed) == MOST
    with world.api_db.read() as session:
        assert quota.usage(session, project)["instances"] == MOST
    assert boot(min_count=1, max_count=5).status_code == 403


def test_a_server_that_is_refused_for_another_reason_counts_no_port(boot, let, project, used):
    let(project, instances=0)
    assert boot().status_code == 403
    assert used() == 0


def test_the_ports_of_a_server_count_until_it_is_gone(world, boot, make, used):
    server = boot({"uuid": PRIVATE.id}).json["server"]["id"]
    for _ in range(MOST - 1):
        make("port")
    assert make("port").status_code == 409
    world.client.delete(f"/v2.1/servers/{server}", token=ADMIN)  # it was in no cell yet
    assert used() == MOST - 1
    assert make("port").status_code == 201


def test_of_many_servers_at_once_as_many_are_made_as_there_may_be_ports_for(boot, make, used):
    with futures.ThreadPoolExecutor(6) as executor:
        asked = [executor.submit(boot if n % 2 else lambda: make("port")) for n in range(8)]
        done = [one.result().status_code for one in asked]
    assert sum(status in (201, 202) for status in done) == MOST
    assert set(done) <= {201, 202, 403, 409}
    assert used() == MOST


class TestInterfaces:
    """Interfaces of a running server, which was booted with one."""

    @pytest.fixture
    def bus(self, world):
        bus = world.buses["fake://cell1/"]
        yield bus
        bus.answers.clear()

    @pytest.fixture
    def server(self, world, project):
        running = {"vm_state": states.ACTIVE, "task_state": None, "host": "h1"}
        info = NetworkInfo.of(vifs=[a_vif()])
        server = world.place(CELL1, **running, project_id=project, network_info=info)
        wanted = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)
        whose = {"project_id": project, "groups": [], "uuids": [server.uuid]}
        with world.api_db.begin() as session:
            world.parts.networking.take(session, requests=[wanted], **whose)
        return server

    @pytest.fixture
    def attach(self, ask, server):
        path = f"/v2.1/servers/{server.uuid}/os-interface"
        return lambda: ask("POST", path, {"interfaceAttachment": {}})

    @pytest.fixture
    def detach(self, ask, server):
        path = f"/v2.1/servers/{server.uuid}/os-interface/{server.network_info.vifs[0].id}"
        return lambda: ask("DELETE", path)

    def test_what_is_attached_counts_and_over_the_limit_is_refused(self, attach, used, bus):
        assert [attach().status_code for _ in range(MOST)] == [200, 200, 403]
        assert used() == MOST
        sent = [method for _host, method, _arguments in bus.sent]
        assert sent.count("attach_interface") == MOST - 1

    @pytest.mark.parametrize(
        ("error", "status"),
        [
            (exception.NoCapacity("no address is left"), 409),
            (exception.Away("the host did not answer lately"), 503),
        ],
    )
    def test_what_could_not_be_attached_does_not_count(self, attach, used, bus, error, status):
        bus.answers["attach_interface"] = error
        assert attach().status_code == status
        assert used() == 1

    def test_what_no_host_was_asked_for_does_not_count(self, world, attach, used, monkeypatch):
        def away():
            raise exception.Unavailable("the cell's database is away")

        monkeypatch.setattr(world.databases[CELL1], "begin", away)
        assert attach().status_code == 503
        assert used() == 1

    def test_what_may_have_been_attached_counts(self, attach, used, bus):
        bus.answers["attach_interface"] = exception.Timeout("no answer")
        assert attach().status_code == 504
        assert used() == 2

    def test_what_is_detached_counts_no_more_however_often_that_is_said(
        self, attach, detach, used, make
    ):
        attach()
        assert [detach().status_code for _ in range(2)] == [202, 202]
        assert used() == 1
        assert make("port").status_code == 201

    def test_a_port_that_was_made_before_is_detached_and_still_there(
        self, world, server, make, used
    ):
        world.parts.networking.detach(server, make("port").json["port"]["id"])
        assert used() == 2

    def test_those_of_a_server_that_is_gone_count_no_more(self, world, server, attach, used):
        attach()
        world.end(server)
        world.parts.networking.detach(server, a_uuid())
        assert used() == 0

    def test_a_server_of_an_older_release_counts_only_what_is_attached(self, world, project, used):
        server = world.place(CELL1, project_id=project)
        networking, port_id = world.parts.networking, a_uuid()
        networking.detach(server, a_uuid())
        assert used() == 0
        for _ in range(2):
            networking.attach(server, port_id)
        assert used() == 1
        for _ in range(2):
            networking.detach(server, port_id)
        assert used() == 0
