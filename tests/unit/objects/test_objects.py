import datetime
import pathlib

import pytest
from oslo_versionedobjects.base import VersionedObjectRegistry

import roost.objects
from roost.objects import Instance, Service
from roost.objects.base import RoostObject
from roost.objects.flavor import disk_gb
from tests.builders import a_flavor, a_spec, an_image, an_instance
from tests.unit.golden import check_golden

GIB = 1 << 30
HERE = pathlib.Path(__file__).parent


def our_objects():
    return {
        name: classes[0]
        for name, classes in VersionedObjectRegistry.obj_classes().items()
        if classes[0].__module__.startswith("roost.objects")
    }


def test_fields_of_every_object_are_pinned():
    found = {
        name: {"version": cls.VERSION, "fields": {n: repr(f) for n, f in cls.fields.items()}}
        for name, cls in our_objects().items()
    }
    check_golden(HERE / "objects.json", found)


def test_every_object_is_exported():
    assert sorted([*our_objects(), "RoostObject"]) == sorted(roost.objects.__all__)


@pytest.mark.parametrize("made", [a_flavor(), a_spec(), an_instance()], ids=lambda o: o.obj_name())
def test_an_object_survives_the_wire(made):
    assert type(made).obj_from_primitive(made.obj_to_primitive()) == made


@pytest.mark.parametrize("made", [a_flavor(), a_spec(), an_instance()], ids=lambda o: o.obj_name())
def test_the_fast_wire_form_is_the_stock_one(made):
    stock = super(RoostObject, made).obj_to_primitive()
    fast = made.obj_to_primitive()
    stock["roost_object.changes"] = sorted(stock.get("roost_object.changes", []))
    fast.setdefault("roost_object.changes", [])
    assert _without_changes(fast) == _without_changes(stock)


def test_times_keep_their_microseconds_and_zone():
    at = datetime.datetime(2026, 11, 21, 1, 2, 3, 456789, tzinfo=datetime.UTC)
    service = Service.obj_from_primitive(Service(last_seen_up=at).obj_to_primitive())
    assert service.last_seen_up == at


def test_changes_are_told_apart_from_what_was_read():
    instance = Instance.of(host="h1", attempt=1)
    instance.host = "h2"
    assert instance.obj_what_changed() == {"host"}


def test_a_change_inside_a_held_object_counts():
    instance = Instance.of(flavor=a_flavor())
    instance.obj_reset_changes(recursive=True)
    instance.flavor.vcpus = 99
    assert instance.obj_what_changed() == {"flavor"}


def test_disk_of_a_flavor_counts_swap_in_whole_gib():
    assert disk_gb(a_flavor(root_gb=10, ephemeral_gb=5, swap=1025), an_image(min_disk=99)) == 17


@pytest.mark.parametrize(
    ("image", "expected"),
    [
        ({"min_disk": 3, "size": 1}, 3),
        ({"min_disk": 1, "size": GIB + 1}, 2),
        ({"min_disk": 1, "size": 7, "virtual_size": 9 * GIB}, 9),
        ({"size": 0}, 0),
    ],
)
def test_a_root_disk_that_no_flavor_sizes_is_what_the_image_needs(image, expected):
    assert disk_gb(a_flavor(root_gb=0, ephemeral_gb=2), an_image(**image)) == expected + 2
    assert disk_gb(a_flavor(root_gb=0), None) == 0


def _without_changes(primitive):
    if isinstance(primitive, dict):
        return {
            key: _without_changes(value)
            for key, value in primitive.items()
            if key != "roost_object.changes"
        }
    if isinstance(primitive, list):
        return [_without_changes(value) for value in primitive]
    return primitive
