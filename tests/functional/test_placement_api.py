"""Placement's API on the embedded rig: real HTTP, real RPC, real SQL."""

import types

import pytest
import requests

from roost.objects.host import uuid_of_node
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until

HOST = "cell1-host2"
PROVIDER = uuid_of_node(HOST, HOST)
OTHER = uuid_of_node("cell1-host1", "cell1-host1")
NOBODY = "11111111-2222-4333-8444-555555555555"
PROVIDERS = f"""
meta:
  schema_version: '1.0'
providers:
  - identification:
      name: {HOST}
    inventories:
      additional:
        - CUSTOM_LICENSE:
            total: 20
            reserved: 2
            max_unit: 4
    traits:
      additional:
        - CUSTOM_LICENSED
"""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rig")
    (folder / "licences.yaml").write_text(PROVIDERS)
    overrides = {"compute": {"provider_config_location": str(folder)}}
    with embedded_cloud(folder / "state", cells=1, hosts=3, overrides=overrides) as cloud:
        yield cloud


@pytest.fixture(scope="module")
def ask(cloud):
    """Ask Placement in a version, and return the answer."""

    def ask(path, *, version="latest", method="GET", status=200, token=None):
        headers = {"OpenStack-API-Version": f"placement {version}"}
        headers |= {"X-Auth-Token": token} if token else {}
        url = cloud.client.endpoint.removesuffix("/v2.1") + "/placement" + path
        answer = requests.request(method, url, headers=headers, timeout=30)
        assert answer.status_code == status, answer.text
        return answer

    return ask


@pytest.fixture(scope="module")
def licensed(cloud):
    """A server that has licences, and the aggregate of its host."""
    specs = {"resources:CUSTOM_LICENSE": "3"}
    flavor = cloud.create_flavor(name="licensed")
    cloud.client.post(f"/flavors/{flavor}/os-extra_specs", {"extra_specs": specs})
    body = {"aggregate": {"name": "licensed"}}
    aggregate = cloud.client.post("/os-aggregates", body)["aggregate"]
    path = f"/os-aggregates/{aggregate['id']}"
    cloud.client.post(f"{path}/action", {"add_host": {"host": HOST}})
    (server,) = cloud.wait(cloud.boot(flavorRef=flavor), "ACTIVE")
    yield types.SimpleNamespace(uuid=server["id"], server=server, aggregate=aggregate["uuid"])
    cloud.client.post(f"{path}/action", {"remove_host": {"host": HOST}})
    cloud.client.delete(path)
    cloud.delete_all()


def names(answer):
    return [one["name"] for one in answer.json()["resource_providers"]]


def test_clients_learn_the_versions_without_a_token(ask):
    for path in ("", "/"):
        (version,) = ask(path, version="1.0").json()["versions"]
        assert (version["min_version"], version["max_version"]) == ("1.0", "1.39")
    assert ask("/").headers["OpenStack-API-Version"] == "placement 1.39"
    refused = ask("/", version="1.40", status=406).json()["errors"][0]
    assert (refused["max_version"], refused["title"]) == ("1.39", "Not Acceptable")
    assert "invalid version string" in ask("/", version="new", status=400).text


def test_hosts_are_providers(ask):
    everybody = ask("/resource_providers").json()["resource_providers"]
    assert [one["name"] for one in everybody] == ["cell1-host1", "cell1-host2", "cell1-host3"]
    shown = ask(f"/resource_providers/{PROVIDER}").json()
    assert (shown["name"], shown["root_provider_uuid"]) == (HOST, PROVIDER)
    assert shown["parent_provider_uuid"] is None
    assert len(shown["links"]) == 6
    old = ask(f"/resource_providers/{PROVIDER}", version="1.0").json()
    assert sorted(old) == ["generation", "links", "name", "uuid"]
    assert len(old["links"]) == 3


@pytest.mark.parametrize(
    ("query", "found"),
    [
        (f"name={HOST}", [HOST]),
        (f"uuid={PROVIDER}", [HOST]),
        (f"uuid={PROVIDER.upper()}&name={HOST}", [HOST]),
        (f"uuid={PROVIDER}&name=another", []),
        (f"in_tree={PROVIDER}&uuid={OTHER}", []),
        (f"uuid={NOBODY}", []),
        ("required=CUSTOM_LICENSED", [HOST]),
        ("required=!CUSTOM_LICENSED", ["cell1-host1", "cell1-host3"]),
        ("required=in:CUSTOM_LICENSED,STORAGE_DISK_SSD&required=!STORAGE_DISK_HDD", [HOST]),
        ("resources=VCPU:1,CUSTOM_LICENSE:4", [HOST]),
        ("resources=CUSTOM_LICENSE:5", []),
        ("member_of={aggregate}", [HOST]),
        ("member_of=in:{aggregate},{nobody}", [HOST]),
        ("member_of=!{aggregate}", ["cell1-host1", "cell1-host3"]),
        ("member_of={aggregate}&member_of={nobody}", []),
    ],
)
def test_providers_are_filtered(ask, licensed, query, found):
    query = query.format(aggregate=licensed.aggregate, nobody=NOBODY)
    assert names(ask(f"/resource_providers?{query}")) == found


@pytest.mark.parametrize(
    ("query", "version"),
    [
        ("spam=eggs", "latest"),
        ("uuid=spam", "latest"),
        ("member_of=spam", "latest"),
        ("resources=VCPU", "latest"),
        ("resources=VCPU:0", "latest"),
        ("required=", "latest"),
        (f"member_of={NOBODY}", "1.2"),
        (f"member_of={NOBODY}&member_of={PROVIDER}", "1.23"),
        ("resources=VCPU:1", "1.3"),
        (f"in_tree={PROVIDER}", "1.13"),
        ("required=CUSTOM_A", "1.17"),
        ("required=!CUSTOM_A", "1.21"),
        (f"member_of=!{NOBODY}", "1.31"),
        ("required=in:CUSTOM_A", "1.38"),
    ],
)
def test_what_a_version_does_not_know_is_refused(ask, query, version):
    error = ask(f"/resource_providers?{query}", version=version, status=400).json()["errors"][0]
    assert (error["title"], error["status"]) == ("Bad Request", 400)
    assert error["request_id"].startswith("req-")


def test_a_provider_has_inventories_usages_and_traits(ask, licensed):
    root = f"/resource_providers/{PROVIDER}"
    inventories = ask(f"{root}/inventories").json()
    assert inventories["inventories"]["CUSTOM_LICENSE"] == {
        "total": 20,
        "reserved": 2,
        "min_unit": 1,
        "max_unit": 4,
        "step_size": 1,
        "allocation_ratio": 1.0,
    }
    memory = ask(f"{root}/inventories/MEMORY_MB").json()
    assert memory["max_unit"] == memory["total"] > 0
    assert memory.pop("resource_provider_generation") > 0
    assert memory == inventories["inventories"]["MEMORY_MB"]
    ask(f"{root}/inventories/VGPU", status=404)
    usages = ask(f"{root}/usages").json()["usages"]
    assert (usages["VCPU"], usages["MEMORY_MB"], usages["CUSTOM_LICENSE"]) == (1, 512, 3)
    assert "CUSTOM_LICENSED" in ask(f"{root}/traits").json()["traits"]
    ask(f"{root}/traits", version="1.5", status=404)


def test_the_aggregates_of_a_provider_are_those_of_compute(ask, licensed):
    path = f"/resource_providers/{PROVIDER}/aggregates"
    assert ask(path, version="1.18").json() == {"aggregates": [licensed.aggregate]}
    assert ask(path).json()["resource_provider_generation"] > 0
    ask(path, version="1.0", status=404)


def test_claims_are_allocations(ask, licensed):
    resources = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1, "CUSTOM_LICENSE": 3}
    of_provider = ask(f"/resource_providers/{PROVIDER}/allocations").json()
    assert of_provider["allocations"] == {
        licensed.uuid: {"resources": resources, "consumer_generation": 1}
    }
    shown = ask(f"/allocations/{licensed.uuid}").json()
    generation = ask(f"/resource_providers/{PROVIDER}").json()["generation"]
    assert shown == {
        "allocations": {PROVIDER: {"resources": resources, "generation": generation}},
        "project_id": licensed.server["tenant_id"],
        "user_id": licensed.server["user_id"],
        "consumer_generation": 1,
        "consumer_type": "INSTANCE",
    }
    old = ask(f"/allocations/{licensed.uuid}", version="1.11").json()
    assert list(old) == ["allocations"]
    for nobody in (NOBODY, "nobody"):
        assert ask(f"/allocations/{nobody}").json() == {"allocations": {}}


def test_a_project_uses_what_its_servers_claim(ask, licensed):
    project, user = licensed.server["tenant_id"], licensed.server["user_id"]
    resources = {"VCPU": 1, "MEMORY_MB": 512, "DISK_GB": 1, "CUSTOM_LICENSE": 3}
    path = f"/usages?project_id={project}"
    assert ask(path, version="1.9").json() == {"usages": resources}
    for more in ("", f"&user_id={user}", "&consumer_type=INSTANCE"):
        found = ask(path + more).json()["usages"]
        assert found == {"INSTANCE": {**resources, "consumer_count": 1}}
    assert list(ask(f"{path}&consumer_type=all").json()["usages"]) == ["all"]
    for other in (f"{path}&user_id=another", f"{path}&consumer_type=VOLUME"):
        assert ask(other).json() == {"usages": {}}
    ask("/usages", status=400)


def test_traits_and_classes_are_the_standard_ones_and_those_that_hosts_have(ask):
    assert "CUSTOM_LICENSED" in ask("/traits").json()["traits"]
    assert ask("/traits?name=in:CUSTOM_LICENSED,CUSTOM_B").json()["traits"] == ["CUSTOM_LICENSED"]
    assert ask("/traits?name=startswith:CUSTOM_L").json()["traits"] == ["CUSTOM_LICENSED"]
    assert "CUSTOM_LICENSED" in ask("/traits?associated=true").json()["traits"]
    others = ask("/traits?associated=false").json()["traits"]
    assert "HW_CPU_X86_AVX2" in others
    assert "CUSTOM_LICENSED" not in others
    ask("/traits/HW_CPU_X86_AVX2", status=204)
    ask("/traits/CUSTOM_LICENSED", status=204)
    ask("/traits/CUSTOM_B", status=404)
    ask("/traits?name=CUSTOM_LICENSED", status=400)
    classes = [one["name"] for one in ask("/resource_classes").json()["resource_classes"]]
    assert classes[:3] == ["VCPU", "MEMORY_MB", "DISK_GB"]
    assert "VGPU" in classes
    assert classes[-1] == "CUSTOM_LICENSE"
    assert ask("/resource_classes/CUSTOM_LICENSE").json()["name"] == "CUSTOM_LICENSE"
    ask("/resource_classes/CUSTOM_B", status=404)


def test_servers_get_what_an_aggregate_adds_to_its_hosts(ask, cloud, licensed):
    root = f"/resource_providers/{PROVIDER}"
    (aggregate,) = cloud.client.get("/os-aggregates")["aggregates"]
    flavor = cloud.create_flavor(name="slot")
    specs = {"resources:CUSTOM_SLOT": "1", "trait:CUSTOM_RACK": "required"}
    cloud.client.post(f"/flavors/{flavor}/os-extra_specs", {"extra_specs": specs})

    def change(value, traits):
        metadata = {"resources:CUSTOM_SLOT": value, "traits": traits}
        body = {"set_metadata": {"metadata": metadata}}
        cloud.client.post(f"/os-aggregates/{aggregate['id']}/action", body)

    def slots():
        return ask(f"{root}/inventories").json()["inventories"].get("CUSTOM_SLOT", {}).get("total")

    change("1", "CUSTOM_RACK")
    wait_until(lambda: slots() == 1, "a report with the slot")
    assert "CUSTOM_RACK" in ask(f"{root}/traits").json()["traits"]
    (server,) = cloud.wait(cloud.boot(flavorRef=flavor), "ACTIVE")
    assert server["OS-EXT-SRV-ATTR:host"] == HOST
    cloud.wait(cloud.boot(flavorRef=flavor), "ERROR")
    change(None, None)
    wait_until(lambda: slots() is None, "a report without the slot")
    allocations = ask(f"/allocations/{server['id']}").json()["allocations"]
    assert allocations[PROVIDER]["resources"]["CUSTOM_SLOT"] == 1


def test_candidates_are_the_providers_that_fit(ask, licensed):
    path = "/allocation_candidates?resources=CUSTOM_LICENSE:2,VCPU:1"
    requested = {"CUSTOM_LICENSE": 2, "VCPU": 1}
    found = ask(path).json()
    assert found["allocation_requests"] == [
        {"allocations": {PROVIDER: {"resources": requested}}, "mappings": {"": [PROVIDER]}}
    ]
    summary = found["provider_summaries"][PROVIDER]
    assert summary["resources"]["CUSTOM_LICENSE"] == {"capacity": 18, "used": 3}
    assert "MEMORY_MB" in summary["resources"]
    assert "CUSTOM_LICENSED" in summary["traits"]
    old = ask(path, version="1.10").json()
    assert old["allocation_requests"] == [
        {"allocations": [{"resource_provider": {"uuid": PROVIDER}, "resources": requested}]}
    ]
    assert sorted(old["provider_summaries"][PROVIDER]["resources"]) == sorted(requested)
    some = ask("/allocation_candidates?resources=VCPU:1&limit=2&required=!CUSTOM_LICENSED").json()
    assert len(some["allocation_requests"]) == 2
    only = ask(f"/allocation_candidates?resources=VCPU:1&in_tree={PROVIDER}").json()
    assert list(only["provider_summaries"]) == [PROVIDER]
    ask("/allocation_candidates", status=400)


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/resource_providers"),
        ("DELETE", f"/resource_providers/{PROVIDER}"),
        ("PUT", f"/resource_providers/{PROVIDER}/inventories"),
        ("PUT", f"/resource_providers/{PROVIDER}/aggregates"),
        ("PUT", f"/allocations/{NOBODY}"),
        ("POST", "/allocations"),
        ("POST", "/reshaper"),
        ("PUT", "/traits/CUSTOM_A"),
        ("PUT", "/resource_classes/CUSTOM_A"),
    ],
)
def test_writes_are_refused_with_the_reason(ask, method, path):
    error = ask(path, method=method, status=405).json()["errors"][0]
    assert "view of Roost's own hosts and claims" in error["detail"]
    assert error["code"] == "placement.undefined_code"


def test_errors_have_the_form_of_placement(ask):
    (missing,) = ask(f"/resource_providers/{NOBODY}", status=404).json()["errors"]
    assert missing["title"] == "Not Found"
    assert NOBODY in missing["detail"]
    for path in ("/barnabas", f"/resource_providers/{PROVIDER}/cows", "/resource_providers/spam"):
        assert ask(path, status=404).json()["errors"][0]["code"] == "placement.undefined_code"
    (old,) = ask("/barnabas", version="1.22", status=404).json()["errors"]
    assert "code" not in old
    (forbidden,) = ask("/resource_providers", token="alice:p", status=403).json()["errors"]
    assert "placement:resource_providers:list" in forbidden["detail"]


def test_caches_are_told_since_1_15(ask):
    new = ask("/resource_providers", version="1.15").headers
    assert new["Cache-Control"] == "no-cache"
    assert new["Last-Modified"].endswith("GMT")
    assert "Cache-Control" not in ask("/resource_providers", version="1.14").headers
