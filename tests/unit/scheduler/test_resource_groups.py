"""Parts of hosts: each class comes from one of them, each group from one with its traits."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roost import exception
from roost.hardware import resource_groups
from roost.hardware.providers import Stock
from roost.objects import PortResources
from roost.scheduler.topology import Allocator, FreeProvider
from tests.builders import a_flavor, a_provider, a_spec, a_uuid, an_inventory

EGRESS = "NET_BW_EGR_KILOBIT_PER_SEC"
PACKETS = "NET_PACKET_RATE_KILOPACKET_PER_SEC"
GPUS = [a_provider(f"gpu{number}", VGPU=1) for number in range(2)]
TWO = {"resources1:VGPU": "1", "resources2:VGPU": "1"}
APART, ANYHOW = ({**TWO, "group_policy": policy} for policy in ("isolate", "none"))


@pytest.fixture
def select(manager, context):
    """Have an instance of a flavor with these extra specs placed; return its allocations."""

    def select(specs, *, by=manager, uuid=None, **spec):
        flavor = a_flavor(vcpus=1, memory_mb=64, root_gb=0, extra_specs=specs)
        ((chosen, *_),) = by.select_destinations(
            context,
            request_spec=a_spec(flavor=flavor, **spec),
            instance_uuids=[uuid or a_uuid()],
            alternates=0,
        )
        return chosen.allocations

    return select


@pytest.fixture
def report_again(report, clock):
    def report_again(host, **values):
        clock.pass_(1)
        report(host, reported_at=clock.now, **values)

    return report_again


def test_a_class_comes_from_one_part_though_all_together_have_more(select, report):
    report("h1", providers=[a_provider("gpu0", VGPU=2), a_provider("gpu1", VGPU=1)])
    with pytest.raises(exception.NoValidHost, match="3 VGPU at once are not allowed"):
        select({"resources:VGPU": "3"})
    assert select({"resources:VGPU": "1"}) == {"gpu1": {"VGPU": 1}}
    assert select({"resources:VGPU": "1"}) == {"gpu0": {"VGPU": 1}}
    with pytest.raises(exception.NoValidHost, match="not enough VGPU"):
        select({"resources:VGPU": "2"})


def test_classes_without_a_group_may_come_from_several_parts(select, report):
    parts = [a_provider("gpu0", VGPU=1), a_provider("nic", NET_BW_EGR_KILOBIT_PER_SEC=1000)]
    report("h1", inventories=[an_inventory("CUSTOM_LICENSE", 1)], providers=parts)
    specs = {f"resources:{name}": "1" for name in ("VGPU", "CUSTOM_LICENSE")}
    assert select(specs | {"resources:NET_BW_EGR_KILOBIT_PER_SEC": "600"}) == {
        "": {"CUSTOM_LICENSE": 1},
        "gpu0": {"VGPU": 1},
        "nic": {"NET_BW_EGR_KILOBIT_PER_SEC": 600},
    }


def test_two_schedulers_cannot_both_take_the_last_unit_of_a_part(select, report, make_manager):
    report("h1", providers=[a_provider("fast", traits=["CUSTOM_FAST"], VGPU=1), *GPUS])
    fast = {"resources1:VGPU": "1", "trait1:CUSTOM_FAST": "required"}
    one, other = make_manager(), make_manager()
    select({}, by=other)  # it has read the host
    assert select(fast, by=one) == {"fast": {"VGPU": 1}}
    with pytest.raises(exception.NoValidHost, match="not enough VGPU"):
        select(fast, by=other)
    assert [*select({"resources:VGPU": "1"}, by=other)] == ["gpu0"]


def test_what_is_released_is_given_back_to_its_part(select, report, manager, context):
    report("h1", providers=GPUS)
    uuid, plain = a_uuid(), {"resources:VGPU": "1"}
    taken = [select(plain, uuid=uuid), select(plain)]
    manager.release_claims(context, instance_uuids=[uuid])
    assert select(plain) == taken[0]


def test_a_group_comes_whole_from_one_part(select, report, report_again):
    both = {"resources1:VGPU": "1", "resources1:VGPU_DISPLAY_HEAD": "2"}
    report("h1", providers=[a_provider("gpu0", VGPU=1), a_provider("gpu1", VGPU_DISPLAY_HEAD=2)])
    with pytest.raises(exception.NoValidHost, match="no part with VGPU and VGPU_DISPLAY_HEAD"):
        select(both)
    report_again("h1", providers=[*GPUS, a_provider("gpu2", VGPU=1, VGPU_DISPLAY_HEAD=2)])
    assert select(both) == {"gpu2": {"VGPU": 1, "VGPU_DISPLAY_HEAD": 2}}


def test_a_group_needs_its_traits_in_its_part(select, report):
    fast = a_provider("gpu1", traits=["CUSTOM_FAST"], VGPU=1)
    report("h1", traits=["CUSTOM_OTHER"], providers=[GPUS[0], fast])
    group = {"resources_fast:VGPU": "1"}
    assert select(group | {"trait_fast:CUSTOM_FAST": "forbidden"}) == {"gpu0": {"VGPU": 1}}
    with pytest.raises(exception.NoValidHost, match="no VGPU with the traits CUSTOM_OTHER"):
        select(group | {"trait_fast:CUSTOM_OTHER": "required"})
    assert select(group | {"trait_fast:CUSTOM_FAST": "required"}) == {"gpu1": {"VGPU": 1}}


def test_a_trait_without_a_group_is_that_of_the_host_or_of_a_part_that_gives_something(
    select, report
):
    fast = a_provider("gpu1", traits=["CUSTOM_FAST"], VGPU=1)
    report("h1", traits=["CUSTOM_OTHER"], providers=[GPUS[0], fast])
    required = {"trait:CUSTOM_FAST": "required", "trait:CUSTOM_OTHER": "required"}
    assert select(required | {"resources:VGPU": "1"}) == {"gpu1": {"VGPU": 1}}
    with pytest.raises(exception.NoValidHost, match="lacks the trait CUSTOM_FAST"):
        select(required)
    with pytest.raises(exception.NoValidHost, match="not enough VGPU in parts that go together"):
        select(required | {"resources:VGPU": "1"})
    forbidden = {"trait:CUSTOM_FAST": "forbidden", "resources:VGPU": "1"}
    assert select(forbidden) == {"gpu0": {"VGPU": 1}}


def test_the_policy_says_whether_groups_may_share_a_part(select, report, report_again):
    report("h1", providers=[a_provider("gpu0", VGPU=4)])
    assert select(ANYHOW) == {"gpu0": {"VGPU": 2}}
    with pytest.raises(exception.NoValidHost, match="not enough VGPU in parts that go together"):
        select(APART)
    report_again("h1", providers=[a_provider("gpu0", VGPU=4), a_provider("gpu1", VGPU=4)])
    assert select(APART) == {"gpu0": {"VGPU": 1}, "gpu1": {"VGPU": 1}}


def test_a_refusal_names_the_class_and_who_has_it(select, report):
    report("plain")
    for host in ("h1", "h2", "h3", "h4"):
        report(host, enabled=False, providers=[a_provider("gpu0", VGPU=1)])
    with pytest.raises(exception.NoValidHost, match="no VGPU") as raised:
        select({"resources:VGPU": "1"})
    nearest = raised.value.details["nearest"]["resource_classes"]
    assert nearest["lacks"] == "no VGPU, which only h1, h2, h3 and 1 more have"
    with pytest.raises(exception.NoValidHost, match="no FPGA") as raised:
        select({"resources:FPGA": "1"})
    assert "no FPGA, which no host has" in str(raised.value.details["nearest"])


@pytest.mark.parametrize(
    ("specs", "reason"),
    [
        (TWO, "several groups of resources .1, 2., so it needs group_policy: none or isolate"),
        ({"trait1:CUSTOM_X": "perhaps"}, "trait1:CUSTOM_X must be required or forbidden"),
        ({"resources_a:VGPU": "0"}, "The group '_a' requests nothing"),
        ({"resources:CUSTOM_X": "-1"}, "resources:CUSTOM_X must be a whole number .* not '-1'"),
        ({"resources:CUSTOM_X": "1.5"}, "resources:CUSTOM_X must be a whole number .* not '1.5'"),
        ({"resources:CUSTOM_X": ""}, "resources:CUSTOM_X must be a whole number .* not ''"),
        ({"resources:CUSTOM_X": "2147483648"}, "from 0 to 2147483647, not '2147483648'"),
        ({"resources:CUSTOM_X": "9" * 5000}, "from 0 to 2147483647"),
        ({"resources:VCPU": "-1"}, "resources:VCPU must be a whole number"),
        ({"resources1:VGPU": "two"}, "resources1:VGPU must be a whole number"),
        ({"resources1:VGPU": "1", "same_subtree": "1,2"}, "same_subtree names the group '2'"),
        ({"group_policy": "apart"}, "group_policy must be one of none, isolate, not 'apart'"),
    ],
)
def test_groups_that_are_unclear_are_refused(specs, reason):
    with pytest.raises(exception.Invalid, match=reason):
        resource_groups.check(a_flavor(extra_specs=specs))


def test_a_group_may_have_traits_only(select, report):
    parts = [a_provider("gpu0", VGPU=2), a_provider("fast", traits=["CUSTOM_FAST"])]
    report("h1", providers=parts)
    fast = {"resources1:VGPU": "1", "trait2:CUSTOM_FAST": "required"}
    resource_groups.check(a_flavor(extra_specs=fast))
    assert select(fast) == {"gpu0": {"VGPU": 1}}
    assert select({"trait_a:CUSTOM_FAST": "required"}) == {}
    with pytest.raises(exception.NoValidHost, match="no part with the traits CUSTOM_SLOW"):
        select({"resources1:VGPU": "1", "trait2:CUSTOM_SLOW": "required"})


def test_groups_of_the_same_subtree_come_from_parts_that_belong_together(select, report):
    report(
        "h1",
        providers=[
            a_provider("numa0", traits=["CUSTOM_NEAR"]),
            a_provider("numa1"),
            a_provider("gpu1", parent="numa1", VGPU=1),
            a_provider("gpu0", parent="numa0", VGPU=8),
        ],
    )
    near = {"resources1:VGPU": "1", "trait2:CUSTOM_NEAR": "required"}
    assert select(near | {"same_subtree": "1, 2", "group_policy": "isolate"}) == {
        "gpu0": {"VGPU": 1}
    }
    assert select(near) == {"gpu1": {"VGPU": 1}}


# Against all possibilities, one by one


def names_of(prefix):
    return st.lists(st.sampled_from([f"{prefix}_A", f"{prefix}_B"]), max_size=2, unique=True)


HOSTS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["VGPU", "FPGA"]), st.integers(0, 3), max_size=2),
        names_of("CUSTOM"),
    ),
    min_size=1,
    max_size=4,
)
GROUPS = st.lists(
    st.tuples(
        st.dictionaries(st.sampled_from(["VGPU", "FPGA"]), st.integers(1, 2), max_size=2),
        names_of("CUSTOM"),
    ),
    max_size=3,
)
OWN = st.dictionaries(st.sampled_from(["VGPU", "FPGA"]), st.integers(1, 2), max_size=2)


@given(hosts=HOSTS, groups=GROUPS, own=OWN, policy=st.sampled_from(["none", "isolate"]))
def test_an_allocation_is_found_if_there_is_one(hosts, groups, own, policy):
    providers = [
        FreeProvider(
            f"p{at}" if at else "",
            frozenset(traits),
            {name: Stock(total, 1, total, 1) for name, total in totals.items()},
        )
        for at, (totals, traits) in enumerate(hosts)
    ]
    specs = {f"resources:{name}": str(amount) for name, amount in own.items()}
    for at, (amounts, traits) in enumerate(groups):
        specs |= {f"resources{at}:{name}": str(amount) for name, amount in amounts.items()}
        specs |= {f"trait{at}:{trait}": "required" for trait in traits}
    request = resource_groups.requested_by(specs | {"group_policy": policy}, {})
    if not request:
        return
    found = Allocator(request).find(providers)
    parts = [(amounts, set(traits)) for amounts, traits in groups]
    parts += [({name: amount}, set()) for name, amount in own.items()]
    possible = any(
        _is_good(parts, chosen, len(groups) if policy == "isolate" else 0)
        for chosen in itertools.product(providers, repeat=len(parts))
    )
    assert isinstance(found, dict) == possible
    if possible:
        for provider in providers:
            for name, stock in provider.stocks.items():
                assert found.get(provider.name, {}).get(name, 0) <= stock.free
        everything = [amounts for amounts, _ in parts]
        for name in ("VGPU", "FPGA"):
            wanted = sum(amounts.get(name, 0) for amounts in everything)
            assert sum(one.get(name, 0) for one in found.values()) == wanted


def _is_good(parts, chosen, isolated):
    mine = zip(parts[:isolated], chosen[:isolated], strict=True)
    apart = [provider.name for (amounts, _), provider in mine if amounts]
    if len(set(apart)) < len(apart):
        return False
    taken = {}
    for (amounts, traits), provider in zip(parts, chosen, strict=True):
        if not traits <= provider.traits:
            return False
        for name, amount in amounts.items():
            taken[provider.name, name] = taken.get((provider.name, name), 0) + amount
    free = {(one.name, name): stock.free for one in chosen for name, stock in one.stocks.items()}
    return all(amount <= free.get(key, -1) for key, amount in taken.items())


def bandwidth(amount, *traits, port="p1", group=None):
    return PortResources.of(
        group_id=group or a_uuid(), port_id=port, amounts={EGRESS: amount}, required=list(traits)
    )


def test_a_ports_group_comes_from_one_provider_with_its_traits(select, report):
    report("h1", providers=[a_provider("br0", **{EGRESS: 900}), a_provider("br1", traits=["CUSTOM_PHYSNET_A"], **{EGRESS: 900})])  # fmt: skip  # noqa: E501
    fits = bandwidth(500, "CUSTOM_PHYSNET_A")
    assert select({}, port_resources=[fits]) == {"br1": {EGRESS: 500}}
    with pytest.raises(exception.NoValidHost, match=f"not enough {EGRESS}"):
        select({}, port_resources=[fits])
    assert select({}, port_resources=[bandwidth(500)]) == {"br0": {EGRESS: 500}}


def test_the_flavors_policy_does_not_part_the_groups_of_ports(select, report):
    report("h1", providers=[a_provider("br0", VGPU=1, **{EGRESS: 900}), *GPUS])
    ports = [bandwidth(400, port="p1"), bandwidth(400, port="p2")]
    taken = select(APART, port_resources=ports)
    assert taken["br0"][EGRESS] == 800


def test_the_groups_of_one_port_come_from_one_subtree(select, report):
    def agent(name, packets, most):
        return [
            a_provider(name, **{PACKETS: packets}),
            a_provider(f"{name}:br0", parent=name, **{EGRESS: most}),
        ]

    report("h1", providers=[*agent("a1", 1, 900), *agent("a2", 900, 500)])
    packets = PortResources.of(group_id=a_uuid(), port_id="p1", amounts={PACKETS: 100})
    assert select({}, port_resources=[packets, bandwidth(400)]) == {
        "a2": {PACKETS: 100},
        "a2:br0": {EGRESS: 400},
    }
    with pytest.raises(exception.NoValidHost, match="in parts that go together"):
        select({}, port_resources=[packets, bandwidth(400)])
    other = bandwidth(400, port="p2")
    assert select({}, port_resources=[packets, other])["a1:br0"] == {EGRESS: 400}


def test_a_required_trait_of_the_flavor_is_not_that_of_a_ports_provider(select, report):
    report("h1", providers=[a_provider("br0", traits=["CUSTOM_FAST"], **{EGRESS: 900})])
    with pytest.raises(exception.NoValidHost):
        select({"trait:CUSTOM_FAST": "required"}, port_resources=[bandwidth(1)])


def test_the_providers_of_groups_are_found_again_in_what_an_instance_holds():
    first, second = (bandwidth(400, f"CUSTOM_{one}", group=one, port=one) for one in "AB")
    flavor = {"resources:VGPU": "1", f"resources1:{EGRESS}": "100"}
    request = resource_groups.requested_by(flavor, {}, ports=[first, second])
    parts = [
        FreeProvider.held(a_provider(name, traits=[f"CUSTOM_{trait}"]), amounts)
        for name, trait, amounts in (
            ("", "C", {"VGPU": 1}),
            ("br0", "B", {EGRESS: 500}),
            ("br1", "A", {EGRESS: 400}),
        )
    ]
    assert Allocator(request).providers_of_groups(parts) == {"A": "br1", "B": "br0", "1": "br0"}
    assert Allocator(request).providers_of_groups(parts[:2]) is None
