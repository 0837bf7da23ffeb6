"""Options choose a service group, and what cannot work is told."""

import pytest

from roost import conf, exception
from roost.servicegroup.db import DatabaseGroup
from roost.servicegroup.driver import load_group
from roost.servicegroup.tooz import ToozGroup


def load(**options):
    return load_group(conf.of({"servicegroup": options}), binary="roost-compute")


def test_heartbeats_in_the_database_are_the_default():
    assert isinstance(load(), DatabaseGroup)


def test_a_url_is_enough_for_tooz_and_nothing_is_touched_yet(tmp_path):
    assert isinstance(load(driver="tooz", url=f"file://{tmp_path}/groups"), ToozGroup)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"driver": "astrology"}, "driver = astrology: no entry point"),
        ({"driver": "tooz"}, "url must be set"),
        ({"driver": "tooz", "url": "nonsense"}, "names no backend"),
        ({"driver": "tooz", "url": "magic://127.0.0.1"}, "names no backend"),
        ({"driver": "tooz", "url": "mysql://u:secret@127.0.0.1/x"}, "supports no groups"),
        ({"driver": "tooz", "url": "redis://127.0.0.1?timeout=soon"}, "'soon'"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.get("url", value["driver"]),
)
def test_what_cannot_work_is_told(options, told):
    with pytest.raises(exception.Invalid, match=told) as refused:
        load(**options)
    assert "secret" not in refused.value.message
