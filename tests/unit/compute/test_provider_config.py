"""Inventories and traits of a host that its operator has written into files."""

import textwrap

import pytest

from roost import conf, exception
from roost.compute.collectors import Collectors
from roost.compute.provider_config import read
from roost.objects.host import uuid_of_node
from tests.unit.compute.conftest import RESOURCES

DOCUMENTED = """
    meta:
      schema_version: '1.0'
    providers:
      - identification:
          {identification}
        inventories:
          additional:
            - CUSTOM_EXAMPLE_RESOURCE_CLASS:
                total: 100
                reserved: 0
                min_unit: 1
                max_unit: 10
                step_size: 1
                allocation_ratio: 1.0
        traits:
          additional:
            - 'CUSTOM_EXAMPLE_TRAIT'
"""


@pytest.fixture
def write(tmp_path):
    def write(text, name="a.yaml"):
        (tmp_path / name).write_text(textwrap.dedent(text))

    return write


@pytest.fixture
def found(tmp_path):
    return lambda: read(str(tmp_path), host="h1", node="n1")


@pytest.mark.parametrize(
    "identification",
    ["uuid: $COMPUTE_NODE", "name: n1", f"uuid: {uuid_of_node('h1', 'n1')}"],
)
def test_the_documented_format_gives_a_node_inventories_and_traits(write, found, identification):
    write(DOCUMENTED.format(identification=identification))
    (inventory,) = found().inventories
    assert (inventory.resource_class, inventory.total, inventory.max_unit) == (
        *("CUSTOM_EXAMPLE_RESOURCE_CLASS", 100, 10),
    )
    assert found().traits == ("CUSTOM_EXAMPLE_TRAIT",)


def test_other_nodes_get_nothing_of_it(write, found):
    write(DOCUMENTED.format(identification="name: n2"))
    assert found().inventories == found().traits == ()


def test_without_files_there_is_nothing(found, tmp_path):
    assert found() == read(str(tmp_path / "none"), host="h1", node="n1")


def test_files_add_up_but_name_a_class_once(write, found):
    write(DOCUMENTED.format(identification="name: n1"))
    write(DOCUMENTED.format(identification="name: n1").replace("EXAMPLE", "OTHER"), "b.yaml")
    assert len(found().inventories) == 2
    write(DOCUMENTED.format(identification="name: n1"), "c.yaml")
    with pytest.raises(exception.Invalid, match=r"c\.yaml: CUSTOM_EXAMPLE_RESOURCE_CLASS of n1"):
        found()


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("total: 100", "total: -1", "line 10: -1 is less than the minimum"),
        ("max_unit: 10", "max_units: 10", "line 10: .*max_units"),
        ("step_size: 1", "step_size: none", "line 14: 'none' is not of type 'integer'"),
        ("CUSTOM_EXAMPLE_RES", "VCPU_RES", "line 9: 'VCPU_RESOURCE_CLASS' does not match"),
        ("'CUSTOM_EXAMPLE_TRAIT'", "HW_X", "line 18: 'HW_X' does not match"),
        ("schema_version: '1.0'", "schema_version: '2.0'", "line 3: '2.0' does not match"),
        ("reserved: 0", "reserved: 101", "101 of 100 reserved"),
        ("providers:", "providers: {", r"a\.yaml: "),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(write, found, before, after, reason):
    write(DOCUMENTED.format(identification="name: n1").replace(before, after))
    with pytest.raises(exception.Invalid, match=reason):
        found()


def test_the_files_are_read_by_a_collector_which_does_not_start_with_a_wrong_one(write, tmp_path):
    write(DOCUMENTED.format(identification="uuid: $COMPUTE_NODE"))
    options = conf.of({"compute": {"provider_config_location": str(tmp_path)}})
    collectors = Collectors.from_conf(options, node="n1")
    assert collectors.ask("provider_config")
    assert [one.total for one in collectors.added_to(RESOURCES).inventories] == [100]
    write(DOCUMENTED.format(identification="name: n1").replace("100", "-1"))
    assert not collectors.ask("provider_config")
    assert [one.total for one in collectors.added_to(RESOURCES).inventories] == [100]
    with pytest.raises(exception.Invalid, match=r"a\.yaml, line 10"):
        Collectors.from_conf(options, node="n1")
