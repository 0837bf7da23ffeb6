import datetime

import pytest

from roost import states
from roost.db.api import build_requests
from roost.db.cell import instance_lists, instances
from roost.db.instance_query import Wanted
from roost.db.ordering import Sort
from roost.db.patterns import Pattern
from roost.objects import NetworkInfo, Vif
from tests.builders import NOW, a_spec, a_wish, an_instance

_BY_UUID = (Sort("uuid"),)


def _listed(database, limit=100, after=None, **wanted):
    with database.read() as session:
        found = instance_lists.list_page(session, Wanted(**wanted), after=after, limit=limit)
    return [one.load().display_name for one in found]


def _wished(database, limit=100, after=None, **wanted):
    with database.read() as session:
        found = build_requests.list_page(session, Wanted(**wanted), after=after, limit=limit)
    return [one.load().display_name for one in found]


@pytest.fixture
def three(cell_db, api_db):
    """The same three instances as rows of a cell and as wishes, the oldest first."""
    made = [
        an_instance(
            display_name=name,
            created_at=NOW + datetime.timedelta(seconds=age),
            availability_zone=zone,
        )
        for age, (name, zone) in enumerate([("b", None), ("C", "east"), ("a", "west")])
    ]
    with cell_db.begin() as session:
        for instance in made:
            instances.create(session, instance)
    spec = a_spec(num_instances=3)
    with api_db.begin() as session:
        wishes = [a_wish(spec, instance=one, created_at=one.created_at) for one in made]
        build_requests.create(session, wishes, spec=spec)
    return made


@pytest.fixture(params=["cell", "wishes"])
def listed(request, three, cell_db, api_db):
    """Both kinds of source must list alike."""

    def listed(**wanted):
        if request.param == "cell":
            return _listed(cell_db, **wanted)
        return _wished(api_db, **wanted)

    return listed


@pytest.mark.parametrize(
    ("sorts", "names"),
    [
        ((Sort("created_at", descending=True),), ["a", "C", "b"]),
        ((Sort("created_at"),), ["b", "C", "a"]),
        ((Sort("display_name"),), ["C", "a", "b"]),
        ((Sort("availability_zone"),), ["b", "C", "a"]),
        ((Sort("availability_zone", descending=True),), ["a", "C", "b"]),
    ],
)
def test_the_order_is_by_code_points_and_what_is_missing_comes_first(listed, sorts, names):
    assert listed(order=sorts + _BY_UUID) == names


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("key", ["created_at", "availability_zone", "display_name"])
def test_a_page_goes_on_after_the_last_one(listed, three, key, descending):
    order = (Sort(key, descending), *_BY_UUID)
    whole = listed(order=order)
    last = next(one for one in three if one.display_name == whole[0])
    after = [getattr(last, key), last.uuid]
    assert listed(order=order, after=after) == whole[1:]
    assert listed(order=order, after=after, limit=1) == whole[1:2]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        ({"equal": {"availability_zone": ["east"]}}, ["C"]),
        ({"equal": {"availability_zone": ["east", "west"]}}, ["a", "C"]),
        ({"equal": {"project_id": ["other"]}}, []),
        ({"like": {"display_name": Pattern.of("^c$")}}, ["C"]),
        ({"like": {"display_name": Pattern.of(".*")}}, ["a", "C", "b"]),
        ({"like": {"display_name": Pattern.of("%")}}, []),
        ({"like": {"availability_zone": Pattern.of("st$")}}, ["a", "C"]),
        ({"like": {"display_name": Pattern.of("^[bc]$")}}, ["C", "b"]),
        ({"like": {"availability_zone": Pattern.of("^(we|no).t")}}, ["a"]),
        ({"states": [(states.BUILDING, None)]}, []),
        ({"states": [(states.BUILDING, states.SCHEDULING)]}, ["a", "C", "b"]),
        ({"states": []}, []),
        ({"deleted": True}, []),
        ({"deleted": None}, ["a", "C", "b"]),
        ({"changed_since": NOW + datetime.timedelta(seconds=1)}, ["a", "C"]),
        ({"changed_before": NOW + datetime.timedelta(seconds=1)}, ["C", "b"]),
    ],
)
def test_filters_mean_the_same_for_rows_and_wishes(listed, wanted, names):
    assert listed(**wanted) == names


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 100])
@pytest.mark.parametrize("key", ["created_at", "display_name", "availability_zone"])
def test_pages_of_what_sql_cannot_decide_show_all_of_it_once(cell_db, monkeypatch, key, limit):
    monkeypatch.setattr(instance_lists, "_FEW", 2)  # so that several statements look
    with cell_db.begin() as session:
        for age in range(40):
            moment = NOW + datetime.timedelta(seconds=age // 3)
            zone = {"availability_zone": "east" if age % 2 else None}
            named = an_instance(display_name=f"n{age}", created_at=moment, **zone)
            instances.create(session, named)
    order, after, listed = (Sort(key), *_BY_UUID), None, []
    like = {"display_name": Pattern.of("^n[0-9]*[37]$")}
    while True:
        with cell_db.read() as session:
            wanted = Wanted(like=like, order=order)
            page = instance_lists.list_page(session, wanted, after=after, limit=limit)
        listed += [one.load().display_name for one in page]
        if len(page) < limit:
            break
        after = page[-1].values
    assert sorted(listed) == ["n13", "n17", "n23", "n27", "n3", "n33", "n37", "n7"]


def test_addresses_are_looked_for_by_version(cell_db):
    def vifs(*ips):
        plain = {"network_id": "n", "network_name": "private", "mac": "m", "cidr": "c"}
        none = dict.fromkeys(("gateway", "host", "tag"))
        return NetworkInfo.of(vifs=[Vif.of(id=ip, ip=ip, **plain, **none) for ip in ips])

    with cell_db.begin() as session:
        instances.create(
            session, an_instance(display_name="a", network_info=vifs("10.0.0.1", "fd00::1"))
        )
        instances.create(session, an_instance(display_name="b", network_info=vifs("10.0.0.12")))
        instances.create(session, an_instance(display_name="c", network_info=None))

    def found(version, said):
        return sorted(
            _listed(cell_db, addresses={version: Pattern.of(said, from_start=True)}, order=_BY_UUID)
        )

    assert found(4, "10[.]0") == ["a", "b"]
    assert found(4, "10[.]0.0.1$") == ["a"]
    assert found(4, "[f1]") == ["a", "b"]
    assert found(6, "[f1]") == ["a"]
    assert found(4, "0[.]0") == []


def test_what_was_asked_for_is_found_by_server(api_db, three):
    spec = a_spec(availability_zone="east", hints={"own": ["a"]})
    build_request = a_wish(spec)
    with api_db.begin() as session:
        build_requests.create(session, [build_request], spec=spec)
        asked = build_requests.asked_for(session, [build_request.instance_uuid, three[0].uuid])
    assert asked == {
        build_request.instance_uuid: build_requests.SchedulingDetails("east", {"own": ["a"]})
    }
