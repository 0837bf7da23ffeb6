import datetime

import pytest

from roost import exception, states
from roost.db.api import aggregates, build_requests, cells
from tests.api_harness import ADMIN, ALICE, IMAGE, PRIVATE, count_statements
from tests.builders import CELL1, CELL2, a_uuid, an_image
from tests.fakes.service_groups import force_down
from tests.functional.api.test_unreachable_cells import take_away

_BODY = {"name": "web", "flavorRef": "1", "imageRef": IMAGE}


def _create(world, *, version="2.1", token=ALICE, hints=None, **values):
    body = {"server": {key: value for key, value in (_BODY | values).items() if value != "-"}}
    if int(version[2:]) >= 37:
        body["server"].setdefault("networks", "none")
    if hints:
        body["os:scheduler_hints"] = hints
    return world.client.post("/v2.1/servers", body, version=version, token=token)


def _wish(world, answer):
    with world.api_db.read() as session:
        return build_requests.find(session, answer.json["server"]["id"])


def _spec(world, answer):
    with world.api_db.read() as session:
        return build_requests.get_spec(session, _wish(world, answer).request_uuid)


def _wishes(world):
    with world.api_db.read() as session:
        return build_requests.list_waiting(session, older_than=datetime.timedelta(0))


def test_a_create_is_accepted_stored_counted_and_announced(world):
    answer = _create(world)
    identity = answer.json["server"]["id"]
    assert answer.status_code == 202
    assert answer.headers["Location"].endswith(f"/v2.1/servers/{identity}")
    assert len(answer.json["server"]["adminPass"]) == 12
    assert world.mapping(identity).cell_uuid is None
    assert world.usage() == {"instances": 1, "cores": 1, "ram": 512, "server_groups": 0}
    assert world.api_bus.methods() == ["schedule_and_build_instances"]
    assert world.api_bus.sent[0][2]["instance_uuids"] == [identity]


def test_no_instance_is_written_before_a_cell_is_known(world):
    identity = _create(world).json["server"]["id"]
    assert all(world.instance(identity, cell) is None for cell in world.databases)


def test_a_create_takes_few_statements(world):
    _create(world)  # the project's row of usage is there from now on
    with count_statements(world) as counted:
        assert _create(world).status_code == 202
    assert counted.count <= 10, counted.seen


def test_a_bus_that_is_away_changes_nothing_for_the_user(world):
    world.api_bus.away = True
    answer = _create(world)
    assert answer.status_code == 202
    assert _wish(world, answer) is not None


def test_a_new_server_is_shown_before_it_has_a_cell(world):
    identity = _create(world, version="2.96").json["server"]["id"]
    server = world.client.get(f"/v2.1/servers/{identity}", token=ALICE).json["server"]
    assert (server["status"], server["name"]) == ("BUILD", "web")
    assert server["OS-EXT-STS:task_state"] == states.SCHEDULING


def test_what_was_asked_for_is_kept(world):
    answer = _create(
        world,
        version="2.96",
        description="words",
        tags=["a"],
        metadata={"k": "v"},
        hostname="host-1",
        user_data="aGVsbG8=",
        config_drive="true",
        availability_zone="nova",
        hints={"color": "red", "hosts": ["a", "b"]},
    )
    instance, spec = _wish(world, answer).instance, _spec(world, answer)
    assert (instance.display_description, instance.tags) == ("words", ["a"])
    assert (instance.metadata, instance.hostname) == ({"k": "v"}, "host-1")
    assert (instance.user_data, instance.config_drive) == ("aGVsbG8=", True)
    assert (spec.availability_zone, spec.hints) == ("nova", {"color": ["red"], "hosts": ["a", "b"]})
    assert instance.availability_zone is None  # before it has a host


@pytest.mark.parametrize(
    ("name", "hostname"),
    [
        ("Web 1", "web-1"),
        ("a_b.c", "a-b-c"),
        ("md-0-v1.26.3", "md-0-v1-26-3"),
        ("日本", "server-"),
        ("-.x.-", "x"),
        ("a" * 62 + "." + "b" * 9, "a" * 62),
    ],
)
def test_the_hostname_follows_from_the_name(world, name, hostname):
    assert _wish(world, _create(world, name=name)).instance.hostname.startswith(hostname)


@pytest.mark.parametrize(
    ("asked", "hostnames"),
    [
        ({"name": "node.pool"}, ["node-pool-1", "node-pool-2"]),
        ({"name": "a" * 62 + ".b"}, ["a" * 61 + "-1", "a" * 61 + "-2"]),
        ({"hostname": "a.b"}, ["a.b-1", "a.b-2"]),
        ({"hostname": "a" * 255}, ["a" * 253 + "-1", "a" * 253 + "-2"]),
    ],
)
def test_each_of_several_servers_has_a_hostname_of_its_own(world, asked, hostnames):
    _create(world, min_count=2, version="2.94", **asked)
    assert sorted(wish.instance.hostname for wish in _wishes(world)) == hostnames


@pytest.mark.parametrize(
    ("version", "networks", "kept"),
    [
        ("2.1", "-", [(None, None)]),
        ("2.1", [], [(None, None)]),
        ("2.37", "auto", [(None, None)]),
        ("2.37", "none", []),
        ("2.1", [{"uuid": PRIVATE.id}], [(PRIVATE.id, None)]),
        ("2.1", [{"uuid": PRIVATE.id, "fixed_ip": "10.0.0.9"}], [(PRIVATE.id, "10.0.0.9")]),
    ],
)
def test_networks_are_resolved(world, version, networks, kept):
    answer = _create(world, version=version, networks=networks, token=ADMIN)
    instance = _wish(world, answer).instance
    assert [(nic.network_id, nic.fixed_ip) for nic in instance.networks] == kept


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ({"flavorRef": "none"}, "flavorRef"),
        ({"imageRef": "dddddddd-dddd-4ddd-8ddd-dddddddddddd"}, "Can not find requested image"),
        ({"imageRef": ""}, "imageRef"),
        ({"imageRef": "-"}, "imageRef"),
        ({"key_name": "mine"}, "Invalid key_name provided."),
        ({"security_groups": [{"name": "web"}]}, "group web not found"),
        ({"block_device_mapping": [{}]}, "no volumes"),
        ({"availability_zone": "a:b:c:d"}, "Unable to parse availability_zone"),
        ({"block_device_mapping_v2": [{"source_type": "volume"}]}, "no volumes"),
        ({"networks": [{"uuid": IMAGE}]}, "Network"),
        ({"networks": [{"port": IMAGE}]}, "Port"),
        ({"networks": [{"fixed_ip": "10.0.0.1"}]}, "missing 'uuid'"),
        ({"networks": [{"uuid": PRIVATE.id, "fixed_ip": "10.9.0.9"}]}, "not of the network"),
        ({"min_count": 3, "max_count": 2}, "min_count"),
        ({"max_count": 5000}, "max_count"),
    ],
)
def test_what_cannot_be_done_is_told_and_nothing_is_kept(world, values, said):
    answer = _create(world, **values)
    assert said in answer.json["badRequest"]["message"]
    assert _wishes(world) == []
    assert world.usage()["instances"] == 0


def test_the_image_may_be_named_as_the_only_block_device(world):
    device = {"uuid": IMAGE, "source_type": "image", "boot_index": 0, "destination_type": "local"}
    assert _create(world, block_device_mapping_v2=[device]).status_code == 202
    assert _create(world, imageRef="-", block_device_mapping_v2=[device]).status_code == 202


@pytest.mark.parametrize(
    "needs", [{"min_ram": 513}, {"min_disk": 2}, {"size": 2**30 + 1}, {"status": "queued"}]
)
def test_an_image_that_does_not_fit_the_flavor_is_refused(world, needs):
    image = an_image(**needs)
    world.images.images[image.id] = image
    assert _create(world, imageRef=image.id).status_code == 400


def test_a_private_image_is_for_its_project(world):
    image = an_image(visibility="private", owner="other")
    world.images.images[image.id] = image
    assert _create(world, imageRef=image.id).status_code == 400
    assert _create(world, imageRef=image.id, token="bob:other").status_code == 202


@pytest.mark.parametrize(
    ("trouble", "status"),
    [
        (exception.NotFound("none"), 400),
        (exception.Forbidden("no"), 400),
        (exception.Unavailable("away at 10.0.0.1"), 503),
    ],
)
def test_what_an_image_store_refuses_is_told_apart(world, trouble, status):
    world.images.trouble = trouble
    answer = _create(world)
    assert answer.status_code == status
    assert ("Retry-After" in answer.headers) == (status == 503)
    assert "10.0.0.1" not in answer.text


def test_many_servers_are_made_at_once(world):
    answer = _create(world, max_count=3, return_reservation_id=True)
    wishes = _wishes(world)
    assert answer.json == {"reservation_id": wishes[0].instance.reservation_id}
    assert [w.instance.display_name for w in wishes] == ["web-1", "web-2", "web-3"]
    assert [w.instance.launch_index for w in wishes] == [0, 1, 2]
    assert len({w.request_uuid for w in wishes}) == 1
    assert len(world.api_bus.sent) == 1


def test_fewer_are_made_when_the_quota_allows_no_more(world):
    assert _create(world, min_count=2, max_count=50).status_code == 202
    assert world.usage()["instances"] == 10


def test_more_than_the_quota_is_refused_whole(world):
    answer = _create(world, min_count=11)
    assert answer.json["forbidden"]["message"].startswith(
        "Quota exceeded for instances: Requested 11, but already used 0 of 10 instances"
    )
    assert world.usage()["instances"] == 0
    assert world.api_bus.sent == []


def test_one_address_is_not_for_many_servers(world):
    networks = [{"uuid": PRIVATE.id, "fixed_ip": "10.0.0.9"}]
    assert _create(world, networks=networks, max_count=2).status_code == 400


@pytest.mark.parametrize("root", ["/v2", "/v2.1"])
def test_a_flavor_may_be_named_by_its_url(world, root):
    def create(flavor):
        asked = {"name": "web", "flavorRef": flavor, "imageRef": IMAGE}
        return world.client.post(f"{root}/servers", {"server": asked}, token=ALICE)

    answer = create(f"http://{'compute.' * 40}example.com{root}/flavors/1")
    assert answer.status_code == 202, answer.text
    assert _spec(world, answer).flavor.flavorid == "1"
    assert create("http://compute.example.com/flavors/").status_code == 400
    assert create("http://compute.example.com/flavors/none").status_code == 400


def test_administrators_name_the_host(world):
    answer = _create(world, availability_zone="nova:h1:h1", token="admin:project")
    spec = _spec(world, answer)
    assert (spec.availability_zone, spec.requested_host, spec.requested_node) == (
        "nova",
        "h1",
        "h1",
    )
    assert spec.forced
    answer = _create(world, availability_zone="nova::h1", token="admin:project")
    spec = _spec(world, answer)
    assert (spec.requested_host, spec.requested_node, spec.forced) == (None, "h1", True)
    answer = _create(world, version="2.74", host="h2", token="admin:project")
    assert (_spec(world, answer).requested_host, _spec(world, answer).forced) == ("h2", False)


def test_a_server_is_asked_for_where_its_networks_reach(world):
    assert _spec(world, _create(world, networks="none", version="2.37")).locality == []
    spec = _spec(world, _create(world, networks="auto", version="2.37"))
    assert [(one.label, one.hard) for one in spec.locality] == [
        ("physnet1", True),
        ("rack7", False),
    ]


@pytest.mark.parametrize(
    ("version", "values"), [("2.1", {"availability_zone": "nova:h1"}), ("2.74", {"host": "h1"})]
)
def test_others_do_not_name_hosts(world, version, values):
    assert _create(world, version=version, **values).status_code == 403


@pytest.mark.parametrize(
    "destination",
    [
        {"availability_zone": "lost"},
        {"availability_zone": "lost:h1"},
        {"availability_zone": "nova:lost"},
        {"availability_zone": "nova:h1:lost"},
        {"availability_zone": "nova::lost"},
        {"availability_zone": "nova:h1:h2", "lost": "h2"},
        {"host": "lost"},
        {"hypervisor_hostname": "lost"},
        {"host": "h1", "hypervisor_hostname": "h2", "lost": "h2"},
    ],
)
def test_a_destination_that_nobody_knows_is_refused(world, destination):
    named = destination.pop("lost", "lost")
    answer = _create(world, version="2.74", token="admin:project", **destination)
    assert named in answer.json["badRequest"]["message"]
    assert _wishes(world) == []


@pytest.mark.parametrize(
    "destination",
    [
        {"availability_zone": "nova:h1"},
        {"availability_zone": "nova::h1"},
        {"host": "h1"},
        {"hypervisor_hostname": "h1"},
    ],
)
def test_a_host_that_is_forced_down_is_refused_by_name(world, destination):
    force_down(world.databases[CELL1], "h1")
    answer = _create(world, version="2.74", token="admin:project", **destination)
    assert answer.status_code == 400
    assert answer.json["badRequest"]["message"] == "Compute host h1 is forced down."
    assert _wishes(world) == []
    elsewhere = {name: value.replace("h1", "h2") for name, value in destination.items()}
    assert _create(world, version="2.74", token="admin:project", **elsewhere).status_code == 202


def test_a_zone_is_there_as_soon_as_hosts_are_in_it_and_no_longer(world):
    asked = {"availability_zone": "moon"}
    assert _create(world, **asked).status_code == 400
    with world.api_db.begin() as session:
        moon = aggregates.create(session, "moon", metadata=asked)
    assert _create(world, **asked).status_code == 400
    with world.api_db.begin() as session:
        for host in ("h1", "h2"):
            aggregates.add_host(session, moon.id, host)
    assert _create(world, **asked).status_code == 202


def test_a_zone_may_be_in_a_cell_that_is_away(world):
    take_away(world)
    assert _create(world, availability_zone="moon").status_code == 202


def test_a_host_may_be_named_before_it_is_mapped(world):
    with world.api_db.begin() as session:
        cells.unmap_host(session, "h2")
    answer = _create(world, availability_zone="nova:h2", token="admin:project")
    assert answer.status_code == 202
    with world.api_db.read() as session:
        assert cells.find_host(session, "h2").cell_uuid == CELL2


@pytest.mark.parametrize("hint", ["same_host", "different_host"])
def test_hints_name_servers_that_the_caller_may_see(world, hint):
    mine, theirs = world.place(CELL1), world.place(CELL1, project_id="other")
    made = _create(world, hints={hint: mine.uuid.upper()})
    assert _spec(world, made).hints == {hint: [mine.uuid]}
    for uuid in (theirs.uuid, a_uuid(), "nobody"):
        answer = _create(world, hints={hint: [mine.uuid, uuid]})
        assert answer.status_code == 400
        assert f"{hint}: instance {uuid} could not be found" in answer.text
    assert _create(world, hints={hint: theirs.uuid}, token=ADMIN).status_code == 202


@pytest.mark.parametrize(
    "hint", [{"build_near_host_ip": "192.0.2.7"}, {"query": '["=", "$host", "h1"]'}]
)
def test_only_administrators_ask_for_hosts_by_what_members_are_not_told_of_them(world, hint):
    assert _create(world, hints=hint).status_code == 403
    assert _create(world, hints=hint, token=ADMIN).status_code == 202
