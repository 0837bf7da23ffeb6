"""Placement's API: hosts with several nodes, servers that move, and what a request reads."""

import pytest

from roost.objects.host import uuid_of_node
from tests.builders import a_report, a_uuid


def a_claim(world, instance_uuid, host, node):
    sizes = {"vcpus": 0, "pcpus": 2, "memory_mb": 512, "disk_gb": 0}
    world.scheduler.claims.append(
        {"instance_uuid": instance_uuid, "host": host, "node": node, "project_id": "project"}
        | {**sizes, "resources": {}}
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
