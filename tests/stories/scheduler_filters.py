"""Where servers land, and why some land nowhere, told through HTTP: a story per kind of filter.

The hosts have what ``INVENTORY`` says. Zones, groups and exact places have stories of their own.
"""

import io
import itertools

import pytest
import requests

from roost import conf
from roost.context import admin_context
from roost.image.local import LocalImageStore
from tests.stories.aggregates import HOST, act, aggregate, end_of_boot  # noqa: F401 - a fixture
from tests.stories.boots import clean_slate  # noqa: F401 - after each of these, too
from tests.stories.cloud import wait_until

BIG, ARM, PLAIN, ISOLATED, BLIND = (f"cell1-host{number}" for number in range(1, 6))
QEMU = {"metrics": {"load": 0.5}, "hypervisor_type": "QEMU", "hypervisor_version": 8002000}
XEN = {"metrics": {"load": 0.5}, "hypervisor_type": "xen", "hypervisor_version": 4017000}
INVENTORY = {
    BIG: {
        **QEMU,
        "memory_mb": 512 * 1024,
        "traits": ["CUSTOM_GOLD", "COMPUTE_SOUND_MODEL_ICH9", "CUSTOM_COMPUTE_PMU"],
        "capabilities": {"nic": "fast"},
        "labels": ["rack1"],
    },
    ARM: {**XEN, "architectures": ["aarch64"]},
    PLAIN: QEMU,
    ISOLATED: QEMU,
    BLIND: {},
}
FILTERS = (
    "aggregate_image_properties_isolation",
    "aggregate_tenant_isolation",
    "aggregate_type_affinity",
    "num_instances",
    "io_ops",
    "metrics",
)
NETWORKS = ("private=10.0.0.0/16", "near=10.8.0.0/16 label=rack1", "far=10.9.0.0/16 label=rack9")
_names = itertools.count(1)


def options(isolated_image):
    """What the daemons of these stories are told."""
    return {
        "scheduler": {
            "filters": ",".join([*conf.of({}).scheduler.filters, *FILTERS]),
            "isolated_hosts": ISOLATED,
            "isolated_images": isolated_image,
            "metrics_weights": "load",
        },
        "network": {"local_networks": ",".join(NETWORKS)},
    }


def add_image(folder, **properties):
    """Add an image and return its id."""
    name = f"image-{next(_names)}"
    store, data = LocalImageStore(folder), io.BytesIO(b"bits")
    return store.add(admin_context(), name=name, data=data, properties=properties).id


def flavor(cloud, specs=None, **values):
    """The flavor of a server, as its body names it."""
    made = cloud.create_flavor(**{"name": f"placed-{next(_names)}"} | values)
    if specs:
        path = f"{cloud.client.endpoint}/flavors/{made}/os-extra_specs"
        requests.post(path, json={"extra_specs": specs}, timeout=30).raise_for_status()
    return {"flavorRef": made}


def image(cloud, **properties):
    return {"imageRef": add_image(cloud.plan.images, **properties)}


def network(cloud, name):
    path = cloud.client.endpoint.removesuffix("/v2.1") + "/network/v2.0/networks"
    found = requests.get(path, timeout=30).json()["networks"]
    return {"networks": [{"uuid": one["id"]} for one in found if one["name"] == name]}


def hints(**wishes):
    return {"os:scheduler_hints": wishes}


def land(cloud, **values):
    """Boot a server and return its host."""
    server = end_of_boot(cloud, **values)
    assert server["status"] == "ACTIVE", server["fault"]
    return server[HOST]


def refusal(cloud, **values):
    """Boot a server that finds no host, and return what is said of it."""
    server = end_of_boot(cloud, **values)
    assert server["status"] == "ERROR"
    return server["fault"]["message"]


def soon(cloud, status, **values):
    """Boot servers one after the other until one ends so: the schedulers have heard the news."""

    def attempt():
        server = end_of_boot(cloud, **values)
        return server if server["status"] == status else None

    return wait_until(attempt, f"a server that is {status}", timeout=30)


def lands_soon(cloud, **values):
    return soon(cloud, "ACTIVE", **values)[HOST]


def refused_soon(cloud, **values):
    return soon(cloud, "ERROR", **values)["fault"]["message"]


def test_room(cloud):
    assert land(cloud, **flavor(cloud, ram=400 * 1024)) == BIG
    told = refusal(cloud, **flavor(cloud, ram=600 * 1024))
    assert told.startswith("No valid host was found. ")
    assert "not enough memory" in told
    assert "not enough CPUs" in refusal(cloud, **flavor(cloud, vcpus=1000))
    assert "not enough disk" in refusal(cloud, **flavor(cloud, disk=100000))


def test_a_host_that_is_asked_for_must_pass_too(cloud):
    assert land(cloud, host=PLAIN) == PLAIN
    huge = flavor(cloud, ram=400 * 1024)
    told = refusal(cloud, host=PLAIN, **huge)
    assert "4 hosts: not the requested host" in told
    assert "1: not enough memory" in told


def test_traits(cloud):
    assert land(cloud, **flavor(cloud, {"trait:CUSTOM_GOLD": "required"})) == BIG
    rest = flavor(cloud, {"trait:CUSTOM_GOLD": "forbidden"}, ram=300 * 1024)
    assert "has the trait CUSTOM_GOLD" in refusal(cloud, **rest)
    platinum = flavor(cloud, {"trait:CUSTOM_PLATINUM": "required"})
    assert "lacks the trait CUSTOM_PLATINUM" in refusal(cloud, **platinum)


def test_hardware_that_not_every_hypervisor_has(cloud):
    assert land(cloud, **flavor(cloud, {"hw:sound_model": "ich9"})) == BIG
    assert land(cloud, **image(cloud, hw_pmu="no")) == BIG
    nobodys = flavor(cloud, {"hw:sound_model": "ac97", "hw:virtio_packed_ring": "no"})
    told = refusal(cloud, **nobodys)
    assert "lacks the trait COMPUTE_SOUND_MODEL_AC97" in told
    assert "VIRTIO_PACKED" not in told


def test_capabilities(cloud):
    assert land(cloud, **flavor(cloud, {"capabilities:nic": "fast"})) == BIG
    assert land(cloud, **flavor(cloud, {"capabilities:hypervisor_type": "xen"})) == ARM
    demanding = flavor(cloud, {"capabilities:free_ram_mb": ">= 999999"})
    assert "free_ram_mb is not >= 999999" in refusal(cloud, **demanding)


def test_images_for_some_hosts(cloud):
    assert land(cloud, **image(cloud, hw_architecture="aarch64")) == ARM
    assert land(cloud, **image(cloud, img_hv_type="xen")) == ARM
    assert land(cloud, **image(cloud, img_hv_requested_version="<8,>=4")) == ARM
    told = refusal(cloud, **image(cloud, hw_architecture="s390x"))
    assert "no guests of the architecture s390x" in told
    assert land(cloud, **image(cloud, hw_emulation_architecture="aarch64")) == ARM
    told = refusal(cloud, **image(cloud, hw_emulation_architecture="s390x"))
    assert "does not emulate the architecture s390x" in told


def test_isolated_images_and_hosts(cloud, isolated_image):
    assert land(cloud, imageRef=isolated_image) == ISOLATED
    assert "not a host for isolated images" in refusal(cloud, imageRef=isolated_image, host=PLAIN)
    assert "reserved for isolated images" in refusal(cloud, host=ISOLATED)


def test_networks_that_not_all_hosts_reach(cloud):
    assert land(cloud, **network(cloud, "near")) == BIG
    assert "not at rack9" in refusal(cloud, **network(cloud, "far"))


def test_hosts_that_do_not_measure(cloud):
    assert "does not measure load" in refusal(cloud, host=BLIND)


def test_the_same_host(cloud):
    first = end_of_boot(cloud)
    ids = [land(cloud, **hints(same_host=[first["id"]])) for _ in range(3)]
    assert set(ids) == {first[HOST]}


def test_another_host(cloud):
    taken = [end_of_boot(cloud, host=host) for host in (BIG, ARM)]
    away = hints(different_host=[server["id"] for server in taken])
    assert land(cloud, **away) == PLAIN
    last = end_of_boot(cloud, host=PLAIN)
    away = hints(different_host=[server["id"] for server in (*taken, last)])
    assert "the host of an instance of different_host" in refusal(cloud, **away)


def test_extra_specs_and_aggregates(cloud, aggregate):  # noqa: F811
    act(cloud, aggregate("fast", PLAIN), set_metadata={"metadata": {"ssd": "true"}})
    assert lands_soon(cloud, **flavor(cloud, {"ssd": "true"})) == PLAIN
    scoped = flavor(cloud, {"aggregate_instance_extra_specs:ssd": "<or> true <or> yes"})
    assert land(cloud, **scoped) == PLAIN
    assert "in no aggregate with ssd=maybe" in refusal(cloud, **flavor(cloud, {"ssd": "maybe"}))


def test_hosts_kept_for_projects(cloud, aggregate):  # noqa: F811
    kept = aggregate("bank", BIG, ARM)
    act(cloud, kept, set_metadata={"metadata": {"filter_tenant_id": "bank"}})
    assert "reserved for other projects" in refused_soon(cloud, host=BIG)
    assert land(cloud) == PLAIN


def test_a_host_that_is_busy(cloud, aggregate):  # noqa: F811
    calm = aggregate("calm", PLAIN)
    told = {"max_io_ops_per_host": "1", "ram_allocation_ratio": "1.5"}
    act(cloud, calm, set_metadata={"metadata": told})
    lands_soon(cloud, host=PLAIN, **flavor(cloud, ram=200 * 1024))
    lands_soon(cloud, host=PLAIN, **flavor(cloud, ram=150 * 1024))  # the ratio is known by now
    wait_until(lambda: not cloud.hosts()[PLAIN].io_operations, "a host that is done with it")
    with cloud.faults({"step": "spawn", "host": PLAIN, "delay": 5}):
        (slow,) = cloud.boot(host=PLAIN)
        wait_until(lambda: cloud.hosts()[PLAIN].io_operations, "a host that is busy")
        assert "too many operations under way" in refusal(cloud, host=PLAIN)
        assert cloud.show(slow)["status"] == "BUILD"
    cloud.wait([slow], "ACTIVE")


def test_a_weigher_of_an_aggregate(cloud, aggregate):  # noqa: F811
    hated = aggregate("hated", BIG, ARM)
    multipliers = {f"{name}_weight_multiplier": "-9" for name in ("ram", "cpu", "disk")}
    act(cloud, hated, set_metadata={"metadata": multipliers})
    wait_until(lambda: land(cloud) == PLAIN, "a server on the host that is not hated")
    assert {land(cloud) for _ in range(3)} == {PLAIN}


@pytest.fixture
def isolated_image(cloud):
    """The id of the image that the options isolate."""
    return cloud.rig.conf("scheduler").scheduler.isolated_images[0]
