"""Networks of the local driver, as the option names them."""

import pytest

from roost import conf, exception, networks


def test_networks_are_read_in_order():
    private, public = networks.parse(["private=10.0.0.0/16", " public = 192.0.2.0/24 "])
    assert (private.name, private.cidr, private.gateway) == ("private", "10.0.0.0/16", "10.0.0.1")
    assert (public.name, public.cidr) == ("public", "192.0.2.0/24")


def test_networks_with_labels_are_read_from_a_file(tmp_path):
    file = tmp_path / "roost.conf"
    file.write_text("[network]\nlocal_networks = a=10.0.0.0/16 label=x prefer=y, b=10.1.0.0/16\n")
    read = conf.load([], files=[str(file)]).network.local_networks
    assert [(each.name, each.labels) for each in networks.parse(read)] == [("a", ("x",)), ("b", ())]


def test_the_id_follows_from_the_name_alone():
    first, second = networks.parse(["a=10.0.0.0/16"]), networks.parse(["a=10.1.0.0/16"])
    assert first[0].id == second[0].id
    assert first[0].id != networks.parse(["b=10.0.0.0/16"])[0].id


def test_the_id_stays_the_same_from_release_to_release():
    assert networks.parse(["private=10.0.0.0/16"])[0].id == PRIVATE


@pytest.mark.parametrize(
    ("entry", "why"),
    [
        ("private", "name=cidr"),
        ("=10.0.0.0/16", "name=cidr"),
        ("private=", "name=cidr"),
        ("private=ten", "does not appear to be"),
        ("private=10.0.0.1/16", "host bits"),
        ("private=10.0.0.0/31", "no address for a server"),
        ("private=10.0.0.0/16 rack7", "label=... or prefer=..., not 'rack7'"),
        ("private=10.0.0.0/16 near=rack7", "not 'near=rack7'"),
        ("private=10.0.0.0/16 label=", "not 'label='"),
    ],
)
def test_a_bad_entry_is_named_with_its_option(entry, why):
    with pytest.raises(exception.Invalid) as refused:
        networks.parse(["good=10.9.0.0/16", entry])
    assert repr(entry) in refused.value.message
    assert why in refused.value.message
    assert "[network] local_networks" in refused.value.message


def test_a_name_used_twice_is_refused():
    with pytest.raises(exception.Invalid, match="used twice"):
        networks.parse(["a=10.0.0.0/16", "a=10.1.0.0/16"])


PRIVATE = "85493c41-b66b-5c9e-b118-2d101d1a06c4"
