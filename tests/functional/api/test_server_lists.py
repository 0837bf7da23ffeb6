import datetime
import itertools

import pytest

from roost import states
from roost.api.dependencies import ApiOptions
from roost.db.cell import faults, instances, services
from roost.objects import InstanceFault, NetworkInfo, Vif
from roost.objects.mapping import CELL0_UUID
from tests.api_harness import ADMIN, ALICE, count_statements, made_in
from tests.builders import CELL1, CELL2, NOW, a_flavor
from tests.fakes.service_groups import FakeGroup

_ACTIVE = {"vm_state": states.ACTIVE, "task_state": None}


@pytest.fixture
def options():
    return ApiOptions(max_limit=100)


def _names(answer):
    assert answer.status_code == 200, answer.text
    return [server["name"] for server in answer.json["servers"]]


def _spread(world, count, **values):
    """Put servers into all cells and among the wishes by turns: s0 is the oldest."""
    homes = itertools.cycle([CELL1, CELL2, CELL0_UUID, None])
    for number in range(count):
        moment = NOW + datetime.timedelta(seconds=number)
        world.place(next(homes), display_name=f"s{number}", created_at=moment, **values)


def _all_pages(client, path):
    return [_names(answer) for answer in client.pages(path, token=ALICE)]


def test_a_list_merges_all_cells_and_the_wishes_newest_first(world):
    _spread(world, 9)
    listed = _names(world.client.get("/v2.1/servers", token=ALICE))
    assert listed == [f"s{number}" for number in reversed(range(9))]


@pytest.mark.parametrize("limit", [1, 2, 4, 5, 20])
def test_pages_show_every_server_once_in_order(world, limit):
    _spread(world, 9)
    pages = _all_pages(world.client, f"/v2.1/servers?limit={limit}")
    assert list(itertools.chain(*pages)) == [f"s{number}" for number in reversed(range(9))]
    assert all(len(page) == limit for page in pages[:-1])


@pytest.mark.parametrize("direction", ["asc", "desc"])
@pytest.mark.parametrize("key", ["display_name", "launched_at", "host", "vm_state", "uuid"])
def test_any_order_pages_alike_even_where_values_are_missing(world, key, direction):
    for number, home in zip(range(8), itertools.cycle([CELL1, None, CELL2]), strict=False):
        launched = NOW + datetime.timedelta(seconds=number) if number % 3 else None
        world.place(
            home,
            display_name=("a", "B", "é", "_", "z", "Z", "b", "A")[number],
            launched_at=launched,
            host="h1" if number % 2 else None,
        )
    path = f"/v2.1/servers?sort_key={key}&sort_dir={direction}&all_tenants=1"
    whole = [s["id"] for s in world.client.get(path).json["servers"]]
    paged, marker = [], ""
    while page := world.client.get(f"{path}&limit=3{marker}").json["servers"]:
        paged += [server["id"] for server in page]
        marker = f"&marker={paged[-1]}"
    assert len(set(whole)) == 8
    assert paged == whole


def test_a_list_costs_one_statement_per_cell_and_one_for_the_wishes(world):
    _spread(world, 8, vm_state=states.ACTIVE)
    world.client.get("/v2.1/servers", token=ALICE)  # the cells are known from now on
    with count_statements(world) as counted:
        world.client.get("/v2.1/servers/detail", token=ALICE)
    assert counted.count == 4, counted.seen
    world.place(CELL1, vm_state=states.BUILDING)  # it may be one that was withdrawn
    with count_statements(world) as counted:
        world.client.get("/v2.1/servers/detail", token=ALICE)
    assert counted.count == 5, counted.seen


def test_a_regular_expression_costs_each_cell_a_look_and_a_reading(world):
    _spread(world, 8, vm_state=states.ACTIVE)
    world.client.get("/v2.1/servers", token=ALICE)  # the cells are known from now on
    with count_statements(world) as counted:
        world.client.get("/v2.1/servers/detail?name=s[0-9]", token=ALICE)
    assert counted.count == 7, counted.seen


def test_a_server_placed_while_it_is_listed_is_shown_once(world):
    build_request = world.build_request(display_name="twice")
    with world.databases[CELL1].begin() as session:
        instances.create(session, build_request)
    assert _names(world.client.get("/v2.1/servers", token=ALICE)) == ["twice"]


def place_four(world):
    """Place two servers in cells and one that failed, and have a wish."""
    later = NOW + datetime.timedelta(minutes=1)
    world.place(
        CELL1,
        display_name="web-1",
        reservation_id="r-1",
        key_name="mine",
        launched_at=NOW + datetime.timedelta(milliseconds=7),
        power_state=states.RUNNING,
        network_info=_addresses("10.0.0.1"),
        **_ACTIVE,
    )
    world.place(
        CELL2,
        display_name="web-2",
        availability_zone="east",
        config_drive=True,
        task_state=states.SPAWNING,
        network_info=_addresses("10.0.0.12", "fd00::1"),
    )
    world.place(
        CELL0_UUID,
        display_name="old-web",
        user_id="somebody",
        vm_state=states.ERROR,
        task_state=None,
        updated_at=later,
    )
    world.build_request(display_name="wish", flavor=a_flavor(flavorid="2"))


@pytest.fixture(scope="module")
def four(tmp_path_factory):
    with made_in(tmp_path_factory.mktemp("world"), ApiOptions(max_limit=100)) as world:
        place_four(world)
        yield world


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("name=web", ["web-2", "web-1", "old-web"]),
        ("name=^web", ["web-2", "web-1"]),
        ("name=^WEB-1$", ["web-1"]),
        ("name=w.*1", ["web-1"]),
        ("name=%25", []),
        ("name=^(web|old)-[0-9a-z]%2B$", ["web-2", "web-1", "old-web"]),
        ("name=^web-[^2]", ["web-1"]),
        ("name=wish|1$", ["web-1", "wish"]),
        ("status=ACTIVE", ["web-1"]),
        ("status=active&status=ERROR", ["old-web", "web-1"]),
        ("status=BUILD", ["web-2", "wish"]),
        ("status=SHUTOFF", []),
        ("vm_state=error", ["old-web"]),
        ("task_state=spawning", ["web-2"]),
        ("flavor=2", ["wish"]),
        ("reservation_id=r-1", ["web-1"]),
        ("availability_zone=east", ["web-2"]),
        ("config_drive=true", ["web-2"]),
        ("key_name=mine", ["web-1"]),
        ("progress=100", ["web-1"]),
        ("progress=100&vm_state=error", []),
        ("progress=0", ["old-web", "web-2", "wish"]),
        ("progress=50", []),
        ("user_id=somebody", ["old-web"]),
        ("power_state=1", ["web-1"]),
        ("created_at=2026-01-02T03:04:05Z", ["old-web", "web-1", "web-2", "wish"]),
        ("created_at=2026-01-02T03:04:06Z", []),
        ("launched_at=2026-01-02T03:04:05Z", ["web-1"]),
        ("terminated_at=2026-01-02T03:04:05Z", []),
        ("ip=10.0.0.1", ["web-1", "web-2"]),
        ("ip=^10.0.0.1$", ["web-1"]),
        ("ip=0.0.1", []),
        ("ip=fd00", []),
        ("ip=10[.]0[.]0[.]1.", ["web-2"]),
        ("ip=11|10", ["web-1", "web-2"]),
        ("ip6=fd00::", ["web-2"]),
        ("changes-since=2026-01-02T03:05:00Z", ["old-web"]),
        ("limit=0", []),
        ("sort_key=progress&name=web-1", ["web-1"]),
        ("status=SOFT_DELETED", []),
    ],
)
def test_filters_narrow_a_list(four, query, names):
    answer = four.client.get(f"/v2.1/servers?{query}", token=ALICE, version="2.83")
    assert sorted(_names(answer)) == sorted(names)


def _addresses(*ips):
    plain = {"network_id": "n", "network_name": "private", "mac": "m", "cidr": "c"}
    none = dict.fromkeys(("gateway", "host", "tag"))
    return NetworkInfo.of(vifs=[Vif.of(id=ip, ip=ip, **plain, **none) for ip in ips])


_OF_ADMINS = [
    ("uuid=nonsense", []),
    ("host=h1", ["web"]),
    ("node=n2", ["db"]),
    ("hostname=db", ["db"]),
    ("auto_disk_config=true", ["db"]),
    ("auto_disk_config=false", ["web"]),
    ("locked_by=owner", ["web"]),
    ("root_device_name=/dev/sda", ["db"]),
    ("access_ip_v4=^192.0.2", ["web"]),
    ("access_ip_v6=db8", ["db"]),
    ("description=words", ["web"]),
    ("display_description=words", ["web"]),
    ("display_name=w", ["web"]),
    ("image_ref=some", []),
    ("launch_index=7", ["db"]),
    ("kernel_id=some", []),
    ("ramdisk_id=some", []),
    ("soft_deleted=true", []),
]


@pytest.fixture(scope="module")
def two(tmp_path_factory):
    with made_in(tmp_path_factory.mktemp("world"), ApiOptions()) as world:
        world.place(
            CELL1,
            display_name="web",
            host="h1",
            node="n1",
            locked=True,
            locked_by="owner",
            access_ip_v4="192.0.2.1",
            display_description="some words",
            **_ACTIVE,
        )
        world.place(
            CELL2,
            display_name="db",
            hostname="db",
            host="h2",
            node="n2",
            disk_config="AUTO",
            root_device_name="/dev/sda",
            access_ip_v6="2001:db8::1",
            launch_index=7,
            **_ACTIVE,
        )
        yield world


@pytest.mark.parametrize(("query", "names"), _OF_ADMINS)
def test_some_filters_are_for_administrators_and_ignored_for_others(two, query, names):
    def listed(token):
        return sorted(_names(two.client.get(f"/v2.1/servers?{query}", token=token)))

    assert listed("admin:project") == names
    assert listed(ALICE) == ["db", "web"]


@pytest.mark.parametrize(
    "key", ["access_ip_v4", "terminated_at", "locked_by", "root_device_name", "auto_disk_config"]
)
def test_all_documented_keys_order_a_list(two, key):
    path = f"/v2.1/servers?sort_key={key}"
    assert sorted(_names(two.client.get(path, token=ALICE))) == ["db", "web"]


def test_an_order_that_means_nothing_here_is_no_order(two):
    path = "/v2.1/servers?sort_key=kernel_id&sort_dir=desc&sort_key=display_name&sort_dir=asc"
    assert _names(two.client.get(path, token=ALICE)) == ["db", "web"]


@pytest.mark.parametrize("key", ["id", "vcpus", "memory_mb", "vm_mode", "deleted", "locked"])
def test_orders_that_never_meant_anything_are_refused_since_2_75_only(two, key):
    def names(version):
        path = f"/v2.1/servers?sort_key={key}&sort_key=display_name&sort_dir=asc"
        return two.client.get(path, token=ALICE, version=version)

    assert _names(names("2.72")) == ["db", "web"]
    assert names("2.75").status_code == (200 if key == "locked" else 400)


def test_only_who_is_shown_user_data_has_it_read(world):
    world.place(CELL1, user_data="aGVsbG8=", **_ACTIVE)
    path, name = "/v2.1/servers/detail?all_tenants=1", "OS-EXT-SRV-ATTR:user_data"
    (shown,) = world.client.get(path, version="2.3").json["servers"]
    assert shown[name] == "aGVsbG8="
    with count_statements(world) as counted:
        (shown,) = world.client.get("/v2.1/servers/detail", token=ALICE).json["servers"]
    assert name not in shown
    assert not any("instances.user_data" in statement for statement in counted.seen)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("tags=a", ["ab", "a"]),
        ("tags=a,b", ["ab"]),
        ("tags-any=b,c", ["ab"]),
        ("not-tags=a,b", ["a", "none"]),
        ("not-tags-any=a,b", ["none"]),
        ("tags=A", []),
    ],
)
@pytest.mark.parametrize("home", [CELL1, None])
def test_tags_narrow_a_list_since_2_26(world, home, query, names):
    for name, tags in (("ab", ["a", "b"]), ("a", ["a"]), ("none", [])):
        world.place(home, display_name=name, tags=tags)
    answer = world.client.get(f"/v2.1/servers?{query}", token=ALICE, version="2.26")
    assert sorted(_names(answer)) == sorted(names)


def test_other_projects_are_invisible_but_to_administrators(world):
    other = world.place(CELL1, project_id="other", display_name="theirs")
    assert _names(world.client.get("/v2.1/servers", token=ALICE)) == []
    assert world.client.get(f"/v2.1/servers/{other.uuid}", token=ALICE).status_code == 404
    assert world.client.get("/v2.1/servers?all_tenants=1", token=ALICE).status_code == 403
    assert _names(world.client.get("/v2.1/servers?all_tenants=1")) == ["theirs"]
    assert _names(world.client.get("/v2.1/servers?all_tenants=1&project_id=x")) == []
    assert world.client.get(f"/v2.1/servers/{other.uuid}").status_code == 200


def test_a_project_is_named_only_among_all(world):
    world.place(CELL1, project_id="other", display_name="theirs")
    assert _names(world.client.get("/v2.1/servers?tenant_id=other")) == []
    assert _names(world.client.get("/v2.1/servers?all_tenants=1&tenant_id=other")) == ["theirs"]


def test_a_marker_of_another_project_is_not_found(world):
    other = world.place(CELL1, project_id="other")
    answer = world.client.get(f"/v2.1/servers?marker={other.uuid}", token=ALICE)
    assert answer.status_code == 400


def test_buried_servers_are_shown_only_to_administrators_who_ask(world):
    server = world.place(CELL1, display_name="gone")
    with world.databases[CELL1].begin() as session:
        instances.mark_deleted(session, server.uuid)
    path = "/v2.1/servers/detail?all_tenants=1"
    assert _names(world.client.get(path)) == []
    (shown,) = world.client.get(f"{path}&deleted=1").json["servers"]
    assert shown["status"] == "DELETED"
    assert world.client.get(f"/v2.1/servers/{server.uuid}").status_code == 404


def test_a_server_in_error_tells_why(world):
    server = world.place(CELL0_UUID, vm_state=states.ERROR, task_state=None)
    with world.databases[CELL0_UUID].begin() as session:
        faults.add(session, _fault(server.uuid))
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE).json["server"]
    (listed,) = world.client.get("/v2.1/servers/detail", token=ALICE).json["servers"]
    assert shown["fault"]["message"] == listed["fault"]["message"] == "No valid host was found."


@pytest.mark.parametrize(("host", "status"), [("h1", "UP"), ("h9", "UNKNOWN"), (None, "")])
def test_administrators_see_whether_the_host_is_up(world, host, status):
    server = world.place(CELL1, host=host, **_ACTIVE)
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", version="2.16").json["server"]
    assert shown["host_status"] == status


@pytest.mark.parametrize(
    ("up", "disabled", "status"),
    [(["h1"], True, "MAINTENANCE"), ([], True, "DOWN"), ([], False, "DOWN")],
)
def test_the_status_of_a_host_is_for_the_service_group_to_say(world, up, disabled, status):
    object.__setattr__(world.parts, "service_group", FakeGroup(*up))
    with world.databases[CELL1].begin() as session:
        (service,) = services.list_services(session, hosts=["h1"])
        services.update(session, service.uuid, disabled=disabled)
    server = world.place(CELL1, host="h1", **_ACTIVE)
    shown = world.client.get(f"/v2.1/servers/{server.uuid}", version="2.16").json["server"]
    assert shown["host_status"] == status


def test_a_server_is_shown_with_few_statements(world):
    server = world.place(CELL1, **_ACTIVE)
    world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE)
    with count_statements(world) as counted:
        world.client.get(f"/v2.1/servers/{server.uuid}", token=ALICE)
    assert counted.count == 2, counted.seen


@pytest.mark.parametrize("identity", ["nobody", "1", "ad7bb6bd-d979-441d-8571-64acf18086ed"])
def test_a_server_that_is_not_there_is_not_found(client, identity):
    assert client.get(f"/v2.1/servers/{identity}").status_code == 404


def _fault(uuid):
    return InstanceFault(
        instance_uuid=uuid,
        code=500,
        message="No valid host was found.",
        details=None,
        host=None,
        created_at=NOW,
    )


def test_servers_that_changed_in_a_second_are_found_by_that_second(world):
    for microseconds in (0, 7, 999_999):
        changed = NOW + datetime.timedelta(minutes=1, microseconds=microseconds)
        world.place(CELL1, updated_at=changed, **_ACTIVE)
    world.place(CELL1, updated_at=NOW + datetime.timedelta(minutes=1, seconds=1), **_ACTIVE)

    def found(query):
        path = f"/v2.1/servers/detail?{query}"
        return len(world.client.get(path, version="2.66", token=ALICE).json["servers"])

    assert found("changes-before=2026-01-02T03:05:05Z") == 3
    assert found("changes-since=2026-01-02T03:05:05Z&changes-before=2026-01-02T03:05:05Z") == 3
    assert found("changes-since=2026-01-02T03:05:05Z") == 4
    assert found("changes-before=2026-01-02T03:05:05.000000Z") == 1
    assert found("changes-before=2026-01-02T03:05:05.000007Z") == 2
    assert found("changes-before=2026-01-02T03:05:04Z") == 0


@pytest.mark.parametrize("path", ["servers", "os-migrations"])
def test_no_second_comes_before_itself(world, path):
    def ask(since, before):
        query = f"changes-since={since}&changes-before={before}"
        answer = world.client.get(f"/v2.1/{path}?{query}", version="2.66", token=ADMIN)
        return answer.status_code

    assert ask("2026-01-02T03:05:05.5Z", "2026-01-02T03:05:05Z") == 200
    assert ask("2026-01-02T03:05:06Z", "2026-01-02T03:05:05Z") == 400
    assert ask("2026-01-02T03:05:05.5Z", "2026-01-02T03:05:05.4Z") == 400
