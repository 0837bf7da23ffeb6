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


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("name: n1_gpu0", "name: n1_gpu0"),
        ("name: n1", f"uuid: {uuid_of_node('h1', 'n1').upper()}"),
        ("uuid: $COMPUTE_NODE", "uuid: $COMPUTE_NODE"),
        ("name: n2", "name: n2"),
    ],
)
def test_a_provider_has_one_entry_in_all_files(write, found, first, second):
    write(DOCUMENTED.format(identification=first))
    write(DOCUMENTED.format(identification=second).replace("EXAMPLE", "OTHER"), "b.yaml")
    value = second.split()[1].replace("$", r"\$")
    with pytest.raises(
        exception.Invalid,
        match=rf"b\.yaml, line 5: {value} has an entry before, in .*a\.yaml, line 5: ",
    ):
        found()


def test_a_provider_has_one_entry_in_a_file(write, found):
    text = DOCUMENTED.format(identification="name: n1")
    write(text + text[text.index("      - identification") :])
    with pytest.raises(exception.Invalid, match=r"a\.yaml, line 19: n1 has an entry before"):
        found()


def test_an_entry_that_adds_nothing_does_not_count_and_is_logged(write, found, tmp_path, caplog):
    write(
        """
        meta: {schema_version: '1.0'}
        providers:
          - identification: {name: n1}
            inventories: {extra: []}
        """
    )
    write(DOCUMENTED.format(identification="name: n1"), "b.yaml")
    assert len(found().inventories) == 1
    options = conf.of({"compute": {"provider_config_location": str(tmp_path)}})
    Collectors.from_conf(options, node="n1")
    assert "a.yaml, line 4: n1 has no additional inventories or traits" in caplog.text


@pytest.mark.parametrize("explicit", ["name: n1", f"uuid: {uuid_of_node('h1', 'n1')}"])
@pytest.mark.parametrize("magic", ["uuid: $COMPUTE_NODE", "name: $COMPUTE_NODE"])
def test_an_explicit_entry_replaces_that_of_every_node(write, found, explicit, magic):
    write(DOCUMENTED.format(identification=magic).replace("EXAMPLE", "EVERY"))
    assert found().traits == ("CUSTOM_EVERY_TRAIT",)
    write(DOCUMENTED.format(identification=explicit).replace("total: 100", "total: 7"), "b.yaml")
    assert [(one.resource_class, one.total) for one in found().inventories] == [
        ("CUSTOM_EXAMPLE_RESOURCE_CLASS", 7)
    ]
    assert found().traits == ("CUSTOM_EXAMPLE_TRAIT",)


def test_an_entry_of_a_part_leaves_that_of_every_node(write, found):
    write(DOCUMENTED.format(identification="uuid: $COMPUTE_NODE"))
    write(DOCUMENTED.format(identification="name: n1_gpu0"), "b.yaml")
    assert found().traits == ("CUSTOM_EXAMPLE_TRAIT",)
    assert [one.name for one in found().additions] == ["gpu0"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "author: me",
        "providers: []",
        "providers: [{identification: {name: n1}, note: mine}]",
        "providers: [{identification: {name: n1}, inventories: {removed: [VCPU]}, traits: {x: 1}}]",
        "providers: [{identification: {name: n1}, inventories: {additional: [{}]}}]",
    ],
)
def test_what_the_schema_of_compute_lets_pass_is_let_pass(write, found, text):
    write(f"meta: {{schema_version: '1.10', by: me}}\n{text}")
    assert found().inventories == found().traits == ()


def test_without_files_there_is_nothing(found, tmp_path):
    assert found() == read(str(tmp_path / "none"), host="h1", node="n1")


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        ("total: 100", "total: -1", "line 10: -1 is less than the minimum"),
        ("total: 100", "total: 99999999999999999999", "line 10: 9+ is greater than the maximum"),
        ("step_size: 1", "step_size: 2147483648", "line 14: 2147483648 is greater than"),
        ("step_size: 1", "step_size: 0", "line 14: 0 is less than the minimum"),
        ("ratio: 1.0", "ratio: .inf", "line 15: inf is greater than the maximum"),
        ("ratio: 1.0", "ratio: .nan", "allocation ratio nan"),
        ("max_unit: 10", "max_units: 10", "line 10: .*max_units"),
        ("step_size: 1", "step_size: none", "line 14: 'none' is not of type 'integer'"),
        ("CUSTOM_EXAMPLE_RES", "VCPU_RES", "line 9: 'VCPU_RESOURCE_CLASS' does not match"),
        ("'CUSTOM_EXAMPLE_TRAIT'", "HW_X", "line 18: 'HW_X' does not match"),
        ("schema_version: '1.0'", "schema_version: '2.0'", "line 3: '2.0' does not match"),
        ("reserved: 0", "reserved: 101", r"a\.yaml, line 10: .* 101 of 100 reserved"),
        ("step_size: 1", "step_size: 11", r"a\.yaml, line 10: .*step"),
        (
            *("    traits:", "        - CUSTOM_EXAMPLE_RESOURCE_CLASS: {total: 1}\n    traits:"),
            r"a\.yaml, line 16: CUSTOM_EXAMPLE_RESOURCE_CLASS is defined before",
        ),
        ("name: n1", "uuid: $COMPUTE_NODES", r"line 6: '\$COMPUTE_NODES' does not match"),
        ("name: n1", "host: n1", "line 6: .*host"),
        ("meta:", "about:", "line 1: 'meta' is a required property"),
        (
            *("identification:\n      name: n1", "<<: {identification: {name: 5}}"),
            "line 5: 5 is not of type 'string'",
        ),
        ("providers:", "providers: {", r"a\.yaml: "),
        ("meta:", "\N{NULL}meta:", r"a\.yaml: "),
    ],
)
def test_what_is_wrong_is_told_with_file_and_line(write, found, before, after, reason):
    text = textwrap.dedent(DOCUMENTED.format(identification="name: n1"))
    write(text.replace(before, after))
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
