import pytest

from roost import exception
from roost.api import validation
from roost.api.compute import flavor_extra_specs, flavors
from roost.api.servers import schemas
from roost.api.validation import Schema, grown, is_uuid, timestamp

_SERVER = {"name": "a", "flavorRef": "1", "imageRef": "cccccccc-cccc-4ccc-8ccc-cccccccccccc"}


def _create(minor, **more):
    body = {"server": _SERVER | {"networks": []} | more}
    schemas.CREATE.check(body, minor=minor, what="body")


def test_a_schema_applies_from_its_version_until_the_next():
    schema = Schema({1: {"type": "null"}, 5: {"type": "string"}})
    schema.check(None, minor=4, what="body")
    schema.check("", minor=5, what="body")
    with pytest.raises(exception.Invalid):
        schema.check(None, minor=5, what="body")


def test_a_table_of_properties_grows_and_shrinks():
    rows = [(1, 96, "a", {}), (3, 4, "b", {}), (4, 96, "b", {"type": "null"})]
    schema = grown(rows, lambda _minor, properties: validation.of(properties))
    assert [sorted(schema.document(minor)["properties"]) for minor in (1, 3, 5)] == [
        ["a"],
        ["a", "b"],
        ["a", "b"],
    ]
    assert schema.document(4)["properties"]["b"] == {"type": "null"}


def test_an_error_names_the_place():
    body = {"flavor": {"name": "a", "ram": 0, "vcpus": 1, "disk": 1}}
    with pytest.raises(exception.Invalid, match="flavor/ram"):
        flavors.CREATE.check(body, minor=1, what="body")


def test_an_error_does_not_repeat_megabytes():
    with pytest.raises(exception.Invalid) as caught:
        _create(1, name="x" * 100000)
    assert len(caught.value.message) < 500


def test_a_line_end_is_no_end():
    with pytest.raises(exception.Invalid):
        _create(94, hostname="web-1\n")
    with pytest.raises(exception.Invalid):
        flavor_extra_specs.CREATE.check({"extra_specs": {"a\n": "b"}}, minor=1, what="body")


@pytest.mark.parametrize("name", [" ", "", "a\nb", "a\n", "x" * 256, 5, None, ["a"]])
def test_a_name_is_something_to_read(name):
    with pytest.raises(exception.Invalid):
        _create(1, name=name)


@pytest.mark.parametrize(
    "text", ["2026-01-02T03:04:05Z", "2026-01-02T03:04:05 00:00", "2026-01-02"]
)
def test_times_have_a_zone_even_when_a_plus_was_lost_in_the_query(text):
    assert timestamp(text).utcoffset().total_seconds() == 0


def test_a_uuid_may_come_without_hyphens():
    assert is_uuid("c" * 32)
    assert not is_uuid("c" * 31)


def test_an_address_has_no_scope():
    with pytest.raises(exception.Invalid):
        _create(1, accessIPv6="fe80::1%eth0")


def test_a_fixed_address_has_no_scope_that_would_make_it_another():
    with pytest.raises(exception.Invalid):
        _create(37, networks=[{"uuid": _SERVER["imageRef"], "fixed_ip": "fd00::5%x"}])
