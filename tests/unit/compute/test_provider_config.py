"""Inventories and traits of a host that its operator has written into files."""

import dataclasses
import textwrap

import pytest

from roost import conf, exception
from roost.compute.collectors import Collectors
from roost.compute.provider_config import read
from roost.objects.host import uuid_of_node
from tests.builders import a_provider
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


def test_a_part_is_named_after_its_node(write, tmp_path):
    write(DOCUMENTED.format(identification="name: n1_gpu0"))
    write(DOCUMENTED.format(identification="name: n1_gpu9"), "b.yaml")
    options = conf.of({"compute": {"provider_config_location": str(tmp_path)}})
    collectors = Collectors.from_conf(options, node="n1")
    collectors.ask("provider_config")
    parts = [a_provider(name, VGPU=4, traits=["CUSTOM_OWN"]) for name in ("gpu0", "gpu1")]
    has = collectors.added_to(dataclasses.replace(RESOURCES, providers=tuple(parts)))
    assert has.inventories == RESOURCES.inventories
    assert [
        (one.name, {each.resource_class: each.total for each in one.inventories}, one.traits)
        for one in has.providers
    ] == [
        (
            "gpu0",
            {"CUSTOM_EXAMPLE_RESOURCE_CLASS": 100, "VGPU": 4},
            ["CUSTOM_OWN", "CUSTOM_EXAMPLE_TRAIT"],
        ),
        ("gpu1", {"VGPU": 4}, ["CUSTOM_OWN"]),
    ]


def test_what_a_part_says_of_a_class_itself_counts(write, tmp_path):
    write(DOCUMENTED.format(identification="name: n1_gpu0"))
    options = conf.of({"compute": {"provider_config_location": str(tmp_path)}})
    collectors = Collectors.from_conf(options, node="n1")
    collectors.ask("provider_config")
    own = a_provider("gpu0", CUSTOM_EXAMPLE_RESOURCE_CLASS=7)
    (part,) = collectors.added_to(dataclasses.replace(RESOURCES, providers=(own,))).providers
    assert [one.total for one in part.inventories] == [7]


def test_files_name_a_class_of_a_part_once(write, found):
    for name in ("a.yaml", "b.yaml"):
        write(DOCUMENTED.format(identification="name: n1_gpu0"), name)
    with pytest.raises(
        exception.Invalid, match=r"b\.yaml: CUSTOM_\w+ of n1_gpu0 is defined before"
    ):
        found()


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
