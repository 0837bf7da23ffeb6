"""Placement's API: hosts with several nodes, servers that move, and what a request reads."""

import pytest

from roost.objects import ResourceProvider
from roost.objects.host import uuid_of_node, uuid_of_provider
from tests.builders import a_provider, a_report, a_uuid, an_inventory, taken


def a_claim(world, instance_uuid, host, node, allocations=None):
    has = {**taken(pcpus=2, memory_mb=512), **(allocations or {})}
    world.scheduler.claims.append(
        {"instance_uuid": instance_uuid, "host": host, "node": node, "project_id": "project"}
        | {"allocations": has}
    )


@pytest.fixture
def nodes(world):
    """Two nodes of one host, in a cloud of a hundred others; the providers' uuids."""
    world.scheduler.reports = [
        *(a_report(f"other-{number}") for number in range(100)),
        a_report("h1", node="n1"),
        a_report("h1", node="n2"),
    ]
    return uuid_of_node("h1", "n1"), uuid_of_node("h1", "n2")


def test_a_provider_is_a_node(world, nodes):
    instances = a_uuid(), a_uuid()
    for uuid, node in zip(instances, ("n1", "n2"), strict=True):
        a_claim(world, uuid, "h1", node)
    for provider, uuid, node in zip(nodes, instances, ("n1", "n2"), strict=True):
        path = f"/placement/resource_providers/{provider}"
        assert world.client.get(path).json["name"] == node
        assert list(world.client.get(f"{path}/allocations").json["allocations"]) == [uuid]
        listed = world.client.get(f"/placement/resource_providers?name={node}").json
        assert [one["uuid"] for one in listed["resource_providers"]] == [provider]


def test_a_server_that_moves_has_allocations_on_two_providers(world, nodes):
    instance = world.place(user_id="alice")
    for node in ("n1", "n2"):
        a_claim(world, instance.uuid, "h1", node)
    shown = world.client.get(f"/placement/allocations/{instance.uuid}").json
    assert shown["allocations"] == {
        provider: {"generation": 0, "resources": {"PCPU": 2, "MEMORY_MB": 512}}
        for provider in nodes
    }
    assert shown["user_id"] == "alice"
    used = world.client.get("/placement/usages?project_id=project").json["usages"]
    assert used == {"INSTANCE": {"PCPU": 4, "MEMORY_MB": 1024, "consumer_count": 1}}


def test_a_request_that_names_a_provider_or_consumer_reads_no_others(world, nodes):
    instance = a_uuid()
    a_claim(world, instance, "h1", "n1")
    provider = f"resource_providers/{nodes[0]}"
    for path in (
        provider,
        *(f"{provider}/{part}" for part in ("inventories", "inventories/VCPU", "usages", "traits")),
        *(f"{provider}/{part}" for part in ("aggregates", "allocations")),
        f"allocations/{instance}",
        f"resource_providers?uuid={nodes[0]}",
        f"resource_providers?in_tree={nodes[0]}",
        "resource_providers?name=n1",
        f"allocation_candidates?resources=VCPU:1&in_tree={nodes[0]}",
    ):
        world.scheduler.sent = 0
        answer = world.client.get(f"/placement/{path}")
        assert answer.status_code == 200, answer.text
        assert world.scheduler.sent == 1, path


@pytest.fixture
def gpus(world):
    """A node with two GPUs in a NUMA cell, of which one has a virtual GPU left; uuids by name."""
    inventories = [an_inventory("VGPU", 2, used=2)], [an_inventory("VGPU", 2, used=1)]
    parts = [
        ResourceProvider.of(name=f"gpu{at}", parent="NUMA0", traits=[f"CUSTOM_{at}"], inventories=i)
        for at, i in enumerate(inventories)
    ]
    node = uuid_of_node("h1", "n1")
    world.scheduler.reports = [
        a_report("h2"),
        a_report("h1", node="n1", vcpus=8, providers=[a_provider("NUMA0"), *parts]),
    ]
    return {name: uuid_of_provider(node, name) for name in ("", "NUMA0", "gpu0", "gpu1")}


def test_parts_of_a_node_are_nested_providers(world, gpus):
    get = world.client.get
    in_tree = get(f"/placement/resource_providers?in_tree={gpus['gpu0']}").json
    assert [
        (one["name"], one["uuid"], one["parent_provider_uuid"], one["root_provider_uuid"])
        for one in in_tree["resource_providers"]
    ] == [
        ("n1", gpus[""], None, gpus[""]),
        ("n1_NUMA0", gpus["NUMA0"], gpus[""], gpus[""]),
        ("n1_gpu0", gpus["gpu0"], gpus["NUMA0"], gpus[""]),
        ("n1_gpu1", gpus["gpu1"], gpus["NUMA0"], gpus[""]),
    ]
    path = f"/placement/resource_providers/{gpus['gpu1']}"
    assert list(get(f"{path}/inventories").json["inventories"]) == ["VGPU"]
    assert get(f"{path}/usages").json["usages"] == {"VGPU": 1}
    assert get(f"{path}/traits").json["traits"] == ["CUSTOM_1"]
    assert get(f"{path}/aggregates").json["aggregates"] == []
    assert "VGPU" not in get(f"/placement/resource_providers/{gpus['']}/inventories").text
    for query, names in (
        ("resources=VGPU:1", ["n1_gpu1"]),
        ("required=CUSTOM_0", ["n1_gpu0"]),
        ("name=n1_NUMA0", ["n1_NUMA0"]),
    ):
        found = get(f"/placement/resource_providers?{query}").json["resource_providers"]
        assert [one["name"] for one in found] == names
    classes = get("/placement/resource_classes").json["resource_classes"]
    assert "VGPU" in [one["name"] for one in classes]


def test_allocations_are_those_of_the_parts_that_give_something(world, gpus):
    instance = world.place()
    a_claim(world, instance.uuid, "h1", "n1", {"gpu1": {"VGPU": 1}})
    sizes = {"PCPU": 2, "MEMORY_MB": 512}
    shown = world.client.get(f"/placement/allocations/{instance.uuid}").json["allocations"]
    assert {provider: one["resources"] for provider, one in shown.items()} == {
        gpus[""]: sizes,
        gpus["gpu1"]: {"VGPU": 1},
    }
    for provider, resources in (
        (gpus[""], [sizes]),
        (gpus["gpu1"], [{"VGPU": 1}]),
        (gpus["gpu0"], []),
    ):
        path = f"/placement/resource_providers/{provider}/allocations"
        found = world.client.get(path).json["allocations"]
        assert [one["resources"] for one in found.values()] == resources


def test_a_candidate_is_an_allocation_of_a_node_and_its_parts(world, gpus):
    path = "/placement/allocation_candidates?resources=VCPU:1,VGPU:1"
    found = world.client.get(path).json
    (one,) = found["allocation_requests"]
    assert one["allocations"] == {
        gpus[""]: {"resources": {"VCPU": 1}},
        gpus["gpu1"]: {"resources": {"VGPU": 1}},
    }
    assert set(found["provider_summaries"]) == set(gpus.values())
    assert world.client.get(f"{path}&required=CUSTOM_1").json["allocation_requests"] == [one]
    for trait in ("CUSTOM_0", "!CUSTOM_1"):
        answer = world.client.get(f"{path}&required={trait}").json
        assert answer["allocation_requests"] == []


def candidates(world, query):
    """Return what each candidate has, by provider."""
    answer = world.client.get(f"/placement/allocation_candidates?{query}")
    assert answer.status_code == 200, answer.text
    return [
        {provider: one["resources"] for provider, one in each["allocations"].items()}
        for each in answer.json["allocation_requests"]
    ]


def test_a_group_comes_from_one_part_with_its_traits(world, gpus):
    def gpu(at):
        return {gpus[""]: {"VCPU": 1}, gpus[f"gpu{at}"]: {"VGPU": 1}}

    world.scheduler.reports[1].providers[1].inventories[0].used = 0
    query = "resources=VCPU:1&resources1=VGPU:1&required1="
    assert candidates(world, f"{query}CUSTOM_0") == [gpu(0)]
    assert candidates(world, f"{query}CUSTOM_1") == [gpu(1)]
    assert candidates(world, f"{query}!CUSTOM_0,!CUSTOM_1") == []
    two = "resources1=VGPU:1&resources2=VGPU:1&group_policy="
    assert candidates(world, f"{two}none") == [{gpus["gpu0"]: {"VGPU": 2}}]
    isolated = {gpus["gpu0"]: {"VGPU": 1}, gpus["gpu1"]: {"VGPU": 1}}
    assert candidates(world, f"{two}isolate") == [isolated]
    below = "&required3=!HW_CPU_X86_AVX2&same_subtree=1,2,3"
    assert candidates(world, f"{two}isolate{below}") == [isolated]
    assert candidates(world, f"{two}isolate&same_subtree=1,2") == []
    of_three = "resources1=VGPU:1&resources2=VGPU:1&resources3=VGPU:2&group_policy=none"
    assert candidates(world, of_three) == []


def test_the_node_itself_has_what_is_required_of_the_root(world, gpus):
    world.scheduler.reports[1].traits = ["HW_CPU_X86_AVX2"]
    query = "resources=VGPU:1&root_required="
    assert candidates(world, f"{query}HW_CPU_X86_AVX2") == [{gpus["gpu1"]: {"VGPU": 1}}]
    assert candidates(world, f"{query}CUSTOM_1") == []
    assert candidates(world, f"{query}!HW_CPU_X86_AVX2") == []


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("resources=CUSTOM_NOTHING:1", "Invalid resource class in resources parameter: CUSTOM_N"),
        ("resources=VCPU:1&required=!CUSTOM_NOTHING", "No such trait(s): CUSTOM_NOTHING."),
        ("resources1=VGPU:1&resources2=VGPU:1", "group_policy"),
        ("resources1=VGPU:1&required2=CUSTOM_1", "same_subtree"),
        ("resources1=VGPU:1&same_subtree=1,2", "Real suffixes"),
        ("resources=VGPU:1&root_required=CUSTOM_1,!CUSTOM_1", "Conflicting"),
        ("group_policy=none", "at least one"),
    ],
)
def test_candidates_are_refused_where_placement_refuses(world, gpus, query, reason):
    answer = world.client.get(f"/placement/allocation_candidates?{query}")
    assert answer.status_code == 400
    assert reason in answer.json["errors"][0]["detail"]


def test_a_list_of_providers_by_an_unknown_class_is_refused(world, gpus):
    answer = world.client.get("/placement/resource_providers?resources=CUSTOM_NOTHING:1")
    assert answer.status_code == 400
