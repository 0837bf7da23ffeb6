import json

import pytest

from roost import exception
from roost.scheduler.simulation import inventory

HOST = {"count": 1, "cores": 4, "ram": 8}


@pytest.fixture
def read(tmp_path):
    def read(*hosts, text=None):
        path = tmp_path / "inventory.json"
        path.write_text(json.dumps({"hosts": hosts}) if text is None else text)
        return inventory.read(path)

    return read


def test_hosts_are_as_many_and_as_large_as_the_inventory_says(read):
    kinds = read(HOST | {"name": "old", "count": 2}, {"count": 1, "cores": 0.5, "ram": 2.5})
    hosts = inventory.hosts_of(kinds)

    assert [hosts.name("host", row) for row in range(3)] == ["old-1", "old-2", "kind2-1"]
    assert hosts.capacity_of("VCPU").tolist() == [4000, 4000, 500]
    assert hosts.capacity_of("MEMORY_MB").tolist() == [8000, 8000, 2500]
    assert len(set(hosts.ids.tolist())) == 3


def test_hosts_may_be_overcommitted_and_have_disks_and_zones(read):
    hosts = inventory.hosts_of(
        read(HOST | {"cpu_ratio": 4.0, "disk": 100, "disk_ratio": 0.5, "zone": "north"})
    )

    assert hosts.capacity_of("VCPU").tolist() == [16_000]
    assert hosts.capacity_of("DISK_GB").tolist() == [50_000]
    assert hosts.name("zone", 0) == "north"


@pytest.mark.parametrize(
    ("hosts", "complaint"),
    [
        ([], "there are no hosts"),
        ([HOST | {"count": 0}], "there are no hosts"),
        ([HOST | {"ram": 1e12, "count": 10**6}], "more than can be counted"),
        ([HOST, HOST | {"cores": "four"}], "hosts[1].cores: 'four' is not of type 'number'"),
        ([HOST | {"ram": -1}], "hosts[0].ram: -1 is less than the minimum of 0"),
        ([HOST | {"count": 1.5}], "hosts[0].count: 1.5 is not of type 'integer'"),
        ([HOST | {"cpu_ratio": 0}], "hosts[0].cpu_ratio: 0 is less than or equal"),
        ([HOST | {"colour": "red"}], "hosts[0]: Additional properties are not allowed ('colour'"),
        ([{"count": 1, "cores": 4}], "hosts[0]: 'ram' is a required property"),
    ],
)
def test_what_is_wrong_with_an_inventory_is_told_with_its_place(read, hosts, complaint):
    with pytest.raises(exception.Invalid) as error:
        read(*hosts)

    assert complaint in error.value.message
    assert "inventory.json" in error.value.message


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('{"hosts": [\n{"count": 1,}]}', "line 2: no JSON"),
        ("", "line 1: no JSON"),
        ("[]", "[] is not of type 'object'"),
        ("{}", "'hosts' is a required property"),
        ('{"hosts": [{"count": 1, "cores": NaN, "ram": 1}]}', "NaN is not a number"),
    ],
)
def test_what_is_no_inventory_is_told(read, text, complaint):
    with pytest.raises(exception.Invalid) as error:
        read(text=text)

    assert complaint in error.value.message
