"""What users ask of Neutron for their servers, judged before anything is built."""

import types

import pytest

from roost import exception
from roost.api.networking.neutron import NeutronNetworking
from roost.security_groups import new_group
from tests.builders import a_context, a_uuid, an_instance
from tests.fakes.neutron import FakeNetwork, failure


@pytest.fixture
def neutron():
    return FakeNetwork()


@pytest.fixture
def networking(neutron):
    return NeutronNetworking(
        types.SimpleNamespace(of_user=lambda _context: neutron(), ours=neutron)
    )


@pytest.fixture
def ask(networking):
    """Judge the networks of a create."""

    def ask(networks=None, *, most=1, least=None, admin=False, groups=(), version=104, **asked):
        call = types.SimpleNamespace(
            context=a_context(is_admin=admin), project_id="project", version=version
        )
        body = {"networks": networks, **asked} if networks is not None else asked
        return networking.requests(call, body, groups=groups, least=least or most, most=most)

    return ask


@pytest.fixture
def attach(networking):
    def attach(**asked):
        return networking.attachment(
            types.SimpleNamespace(context=a_context(), project_id="project"),
            asked,
            instance=an_instance(),
        )

    return attach


def test_networks_and_ports_are_resolved_in_order(neutron, ask):
    network = neutron.a_network()
    port = neutron.create_port(network_id=network.id)
    named = {"uuid": network.id, "fixed_ip": "10.0.0.9", "tag": "a"}
    first, second = ask([named, {"port": port.id, "tag": "b"}])
    assert (first.network_id, first.fixed_ip, first.port_id, first.tag) == (
        *(network.id, "10.0.0.9", None, "a"),
    )
    assert (second.network_id, second.port_id, second.tag) == (network.id, port.id, "b")


@pytest.mark.parametrize("networks", [None, [], "auto"])
def test_without_a_choice_it_is_the_one_network_of_the_project(neutron, ask, networks):
    neutron.a_network("others", project_id="other")
    neutron.a_network("outside", is_router_external=True)
    mine = neutron.a_network()
    (request,) = ask(networks)
    assert request.network_id == mine.id


@pytest.mark.parametrize("networks", [None, "auto"])
def test_of_several_one_must_be_named(neutron, ask, networks):
    neutron.a_network()
    neutron.a_network("shared", project_id="other", is_shared=True)
    with pytest.raises(exception.Conflict, match="Multiple possible networks"):
        ask(networks)


def test_a_project_without_networks_gets_none_unless_it_asks_for_one(neutron, ask):
    assert ask() == []
    with pytest.raises(exception.Invalid, match="Unable to automatically allocate"):
        ask("auto")
    neutron.topology = neutron.a_network("auto", project_id="service").id
    (request,) = ask("auto")
    assert request.network_id == neutron.topology


def bad(neutron, what):
    network = neutron.a_network()
    taken = neutron.create_port(network_id=network.id, device_id=a_uuid())
    free = neutron.create_port(network_id=network.id)
    bare = neutron.create_port(network_id=network.id)
    neutron.all["port"][-1].fixed_ips = []
    return {
        "no network": [{"uuid": a_uuid()}],
        "no subnet": [{"uuid": neutron.a_network(subnet_ids=[]).id}],
        "no port": [{"port": a_uuid()}],
        "nothing": [{"tag": "a"}],
        "port twice": [{"port": free.id}] * 2,
        "port and address": [{"port": free.id, "fixed_ip": "10.0.0.9"}],
        "port without address": [{"port": bare.id}],
        "address elsewhere": [{"uuid": network.id, "fixed_ip": "192.0.2.1"}],
        "address taken": [
            {"uuid": network.id, "fixed_ip": taken.fixed_ips[0]["ip_address"]},
        ],
        "port taken": [{"port": taken.id}],
        "outside": [{"uuid": neutron.a_network(is_router_external=True).id}],
        "good": [{"uuid": network.id, "fixed_ip": "10.0.0.9"}, {"port": free.id}],
    }[what]


@pytest.mark.parametrize(
    ("what", "kind"),
    [
        ("no network", exception.Invalid),
        ("no subnet", exception.Invalid),
        ("no port", exception.Invalid),
        ("nothing", exception.Invalid),
        ("port twice", exception.Invalid),
        ("port and address", exception.Invalid),
        ("port without address", exception.Invalid),
        ("address elsewhere", exception.Invalid),
        ("address taken", exception.Invalid),
        ("port taken", exception.Conflict),
        ("outside", exception.Forbidden),
    ],
)
def test_what_cannot_be_had_is_refused(neutron, ask, what, kind):
    with pytest.raises(kind):
        ask(bad(neutron, what))


def test_neutron_judges_by_the_users_right_which_address_may_be_asked_for(neutron, ask, attach):
    network = neutron.a_network()
    neutron.strict.add(network.id)
    with pytest.raises(exception.Forbidden, match="disallowed by policy"):
        ask([{"uuid": network.id, "fixed_ip": "10.0.0.9"}])
    with pytest.raises(exception.Forbidden, match="disallowed by policy"):
        attach(net_id=network.id, fixed_ips=[{"ip_address": "10.0.0.9"}])
    neutron.strict.clear()
    assert ask([{"uuid": network.id, "fixed_ip": "10.0.0.9"}])
    assert neutron.all["port"] == []  # what was made to ask is gone


@pytest.mark.parametrize("place", [0, 1])
def test_several_servers_cannot_share_an_address_or_a_port(neutron, ask, place):
    with pytest.raises(exception.Invalid, match="Unable to launch multiple instances"):
        ask([bad(neutron, "good")[place]], most=2)


def test_administrators_may_use_networks_to_the_outside(neutron, ask):
    assert len(ask(bad(neutron, "outside"), admin=True)) == 1


@pytest.mark.parametrize(("limit", "fits"), [(-1, True), (2, True), (1, False)])
def test_as_many_ports_as_must_be_made_have_to_fit(neutron, ask, limit, fits):
    network = neutron.a_network()
    neutron.limit = limit
    if fits:
        assert len(ask([{"uuid": network.id}], least=2, most=3)) == 1
    else:
        with pytest.raises(exception.QuotaExceeded, match="Maximum number of ports exceeded"):
            ask([{"uuid": network.id}], least=2, most=3)


def test_new_ports_are_in_the_groups_asked_for_and_given_ones_as_they_are(neutron, ask):
    network = neutron.a_network()
    port = neutron.create_port(network_id=network.id)
    groups = [a_group(), a_group()]
    new, given = ask([{"uuid": network.id}, {"port": port.id}], groups=groups)
    assert new.security_groups == [group.id for group in groups]
    assert given.security_groups == []


def test_groups_are_for_networks_with_port_security(neutron, ask):
    network = neutron.a_network(is_port_security_enabled=False)
    assert len(ask([{"uuid": network.id}])) == 1
    with pytest.raises(exception.Invalid, match="port_security_enabled"):
        ask([{"uuid": network.id}], groups=[a_group()])
    port = neutron.create_port(network_id=network.id)
    assert len(ask([{"port": port.id}], groups=[a_group()])) == 1


def a_group():
    return new_group("project", name="web", description="")


@pytest.fixture
def named(networking):
    """Return the names of the groups that a new server is to be in."""

    def named(*names):
        call = types.SimpleNamespace(context=a_context(), project_id="project")
        return [group.name for group in networking.groups.named(call, names)]

    return named


def test_groups_are_named_by_name_or_id_and_each_counts_once(neutron, named):
    db, twin = neutron.a_group("db"), neutron.a_group("x")
    neutron.a_group()
    neutron.a_group("x")
    neutron.a_group("theirs", project_id="other")
    assert named("web", db.id, twin.id, "web") == ["web", "db", "x"]
    with pytest.raises(exception.Conflict, match="Multiple security groups"):
        named("x")
    for name in ("nobodys", "theirs"):
        with pytest.raises(exception.Invalid, match=f"Security group {name} not found"):
            named(name)


def test_an_interface_is_attached_by_network_port_or_the_only_network(neutron, attach):
    network = neutron.a_network()
    port = neutron.create_port(network_id=network.id)
    assert attach().network_id == network.id
    assert attach(port_id=port.id).port_id == port.id
    made = attach(net_id=network.id, fixed_ips=[{"ip_address": "10.0.0.9"}], tag="a")
    assert (made.network_id, made.fixed_ip, made.tag) == (network.id, "10.0.0.9", "a")


@pytest.mark.parametrize("asked", [{"net_id": a_uuid()}, {"port_id": a_uuid()}])
def test_what_is_to_be_attached_must_be_there(attach, asked):
    with pytest.raises(exception.NotFound):
        attach(**asked)


def test_a_neutron_that_does_not_answer_is_unavailable(neutron, ask):
    neutron.trouble = [failure(503)]
    with pytest.raises(exception.Unavailable):
        ask([{"uuid": a_uuid()}])


EGRESS = "NET_BW_EGR_KILOBIT_PER_SEC"
NEEDS = {"resources": {EGRESS: 1000}, "required": ["CUSTOM_PHYSNET_A"]}


@pytest.fixture
def choosy(neutron):
    """A port that needs something of its host."""
    port = neutron.create_port(network_id=neutron.a_network().id)
    groups = {"request_groups": [{"id": "g1", **NEEDS}], "same_subtree": ["g1"]}
    neutron.update_port(port.id, qos_policy_id=a_uuid(), resource_request=groups)
    return neutron.get_port(port.id)


def test_a_port_says_what_it_needs_of_its_host_by_group(neutron, ask, choosy):
    ((one,),) = (request.resources for request in ask([{"port": choosy.id}]))
    assert (one.group_id, one.port_id, one.amounts, one.required) == (
        *("g1", choosy.id, {EGRESS: 1000}, ["CUSTOM_PHYSNET_A"]),
    )
    neutron.update_port(choosy.id, resource_request=NEEDS)
    ((one,),) = (request.resources for request in ask([{"port": choosy.id}]))
    assert (one.group_id, one.amounts) == (choosy.id, {EGRESS: 1000})


def test_such_a_port_is_refused_by_old_versions_and_for_servers_that_are_there(ask, attach, choosy):
    with pytest.raises(exception.Invalid, match=r"not supported until microversion 2\.72"):
        ask([{"port": choosy.id}], version=71)
    with pytest.raises(exception.Invalid, match="claimed when a server is created"):
        attach(port_id=choosy.id)


def test_what_a_port_needs_is_not_guessed(neutron, ask, choosy):
    neutron.trouble = [None, failure(503)]
    with pytest.raises(exception.Unavailable):
        ask([{"port": choosy.id}])


PHYSICAL = "provider:physical_network"


@pytest.fixture
def near(networking, ask):
    """Return the labels that hosts of a create must have, and those that they should have."""

    def near(*nics):
        found = networking.locality(ask([*nics]))
        hard, soft = ([one for one in found if one.hard is hard] for hard in (True, False))
        assert all(one.if_known for one in hard)
        return [[one.label, *one.alternatives] for one in hard], [one.label for one in soft]

    return near


def test_hosts_must_have_the_physical_networks_of_a_server(neutron, near):
    flat = [neutron.a_network(f"n{one}", provider_physical_network=one) for one in "ab"]
    tunnel = neutron.a_network("t")
    nics = [{"uuid": one.id} for one in (*flat, flat[0], tunnel)]
    assert near(*nics) == ([["physical_network=a"], ["physical_network=b"]], [])


@pytest.fixture
def routed(neutron):
    """A network of two segments, the second one of the physical network b."""
    network = neutron.a_network(segments=[{PHYSICAL: one} for one in "ab"])
    segment = neutron._add("segment", physical_network="b")
    neutron.all["subnet"][0].segment_id = segment.id
    return network


def test_of_a_routed_network_any_segment_will_do_until_there_is_an_address(neutron, near, routed):
    assert near({"uuid": routed.id}) == ([["physical_network=a", "physical_network=b"]], [])
    fixed = {"uuid": routed.id, "fixed_ip": "10.0.0.9"}
    assert near(fixed) == ([["physical_network=b"]], [])
    port = neutron.create_port(network_id=routed.id)
    assert near({"port": port.id}) == ([["physical_network=b"]], [])
    neutron.update_port(port.id, fixed_ips=[], ip_allocation="deferred")
    assert near({"port": port.id}) == ([["physical_network=a", "physical_network=b"]], [])


def test_a_port_that_is_bound_to_a_host_prefers_it(neutron, near):
    port = neutron.create_port(network_id=neutron.a_network().id, binding_host_id="h7")
    assert near({"port": port.id}) == ([], ["host=h7"])


def test_without_an_answer_of_neutron_binding_decides(neutron, networking, ask):
    requests = ask([{"uuid": neutron.a_network(provider_physical_network="a").id}])
    neutron.trouble = [failure(503)]
    assert networking.locality(requests) == []
