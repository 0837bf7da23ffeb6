"""Guests ask for what is known of them, and try to learn of others."""

import base64
import dataclasses
import hashlib
import hmac

import falcon.testing
import pytest

from roost import exception, states
from roost.db.cell import guest_config, instances, ports
from roost.guestdata import Operator, ec2, openstack
from roost.metadata.app import make_app
from roost.metadata.guests import Guests
from roost.metadata.identity import ByAddress, BySignature
from roost.objects import GuestConfig, InjectedFile, NetworkRequest
from tests import log_lines
from tests.api_harness import PRIVATE, options, world
from tests.builders import CELL1, CELL2, a_keypair, a_uuid

__all__ = ["options", "world"]
SECRET = "shared"
ANY = NetworkRequest.of(network_id=None, fixed_ip=None, port_id=None, tag=None)


def signed(uuid, *, secret=SECRET):
    return hmac.new(secret.encode(), uuid.encode(), hashlib.sha256).hexdigest()


def headers_of(instance):
    return {
        "X-Instance-ID": instance.uuid,
        "X-Tenant-ID": instance.project_id,
        "X-Instance-ID-Signature": signed(instance.uuid),
    }


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@dataclasses.dataclass
class Service:
    """The service, asked as Neutron's agent does it."""

    world: object
    clock: Clock
    client: falcon.testing.TestClient

    def ask(self, path, instance, method="GET", **more):
        headers = headers_of(instance) | more.pop("headers", {})
        return self.client.simulate_request(method, path, headers=headers, **more)

    def get(self, path, instance):
        return self.ask(path, instance)

    def tell(self, instance, password, *, version="latest"):
        path = f"/openstack/{version}/password"
        return self.ask(path, instance, "POST", body=password)


@pytest.fixture
def guests(world):
    clock = Clock()
    cells = world.parts.cells
    operator = Operator(domain="here", vendor_data={"proxy": "p"})
    guests = Guests(world.api_db, cells, operator=operator, seconds=5, clock=clock)
    guests.clock = clock
    return guests


@pytest.fixture
def service(world, guests):
    client = falcon.testing.TestClient(make_app(guests, BySignature(SECRET)))
    return Service(world, guests.clock, client)


@pytest.fixture
def place(world):
    def place(cell_uuid=CELL1, **values):
        return world.place(
            cell_uuid, **{"uuid": a_uuid(), "vm_state": states.ACTIVE, "host": "h1"} | values
        )

    return place


@pytest.fixture
def guest(place):
    given = GuestConfig.of(
        files=[InjectedFile.of(path="/etc/banner", contents="aGVsbG8=")],
        admin_password="secret",
        boot_roles=["member", "reader"],
    )
    return place(
        hostname="web",
        keypair=a_keypair(name="mine"),
        user_data=base64.b64encode(b"\x00\xff").decode(),
        provisions=given,
    )


class Vendors:
    """Services of the operator; what they say is noted, and may be changed."""

    def __init__(self):
        self.asked = []
        self.says = {"join": {"token": "t"}}

    def __call__(self, question):
        self.asked.append(question)
        if self.says is None:
            raise exception.Unavailable("The vendor data 'join' is unavailable.")
        return self.says


@pytest.fixture
def vendors():
    return Vendors()


@pytest.fixture
def vending(world, vendors):
    """The service, with vendors that have something to say."""
    clock, cells = Clock(), world.parts.cells
    guests = Guests(
        world.api_db, cells, operator=Operator(), seconds=5, vendors=vendors, clock=clock
    )
    client = falcon.testing.TestClient(make_app(guests, BySignature(SECRET)))
    return Service(world, clock, client)


NAMED = "/openstack/latest/vendor_data2.json"


def test_vendors_are_asked_when_their_guest_wants_to_know(vending, vendors, guest):
    vending.get("/openstack/latest/meta_data.json", guest)
    assert "vendor_data2.json" in vending.get("/openstack/latest", guest).text.splitlines()
    assert vendors.asked == []
    assert vending.get(NAMED, guest).json == {"static": {}, "join": {"token": "t"}}
    (question,) = vendors.asked
    assert (question["instance-id"], question["hostname"]) == (guest.uuid, "web")
    assert question["boot-roles"] == "member,reader"
    assert base64.b64decode(question["user-data"]) == b"\x00\xff"


def test_where_vendors_must_answer_only_their_document_is_away(vending, vendors, guest):
    vendors.says = None
    refused = vending.get(NAMED, guest)
    assert (refused.status_code, refused.headers["retry-after"]) == (503, "5")
    assert "join" not in refused.text
    assert vending.get("/openstack/latest/meta_data.json", guest).status_code == 200
    vendors.says = {"join": {}}
    assert vending.get(NAMED, guest).status_code == 200


def test_a_guest_learns_who_it_is(service, guest):
    answer = service.get("/openstack/latest/meta_data.json", guest)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    assert (answer.json["uuid"], answer.json["hostname"]) == (guest.uuid, "web.here")
    assert len(base64.b64decode(answer.json["random_seed"])) == 512


def test_a_guest_finds_its_user_data_files_and_vendor_data(service, guest):
    assert service.get("/openstack/latest/user_data", guest).content == b"\x00\xff"
    assert service.get("/latest/user-data", guest).content == b"\x00\xff"
    assert service.get("/openstack/content/0000", guest).content == b"hello"
    assert service.get("/openstack/latest/vendor_data.json", guest).json == {"proxy": "p"}


def test_the_administrators_password_is_never_sent(service, guest):
    for version in openstack.VERSIONS:
        told = service.get(f"/openstack/{version}/meta_data.json", guest)
        assert "secret" not in told.text


def test_guests_of_every_cell_are_served(service, place):
    guest = place(CELL2)
    assert service.get("/latest/meta-data/instance-id", guest).status_code == 200


@pytest.mark.parametrize("slash", ["", "/"])
def test_folders_list_what_they_have(service, guest, slash):
    def listed(path):
        return service.get(path + slash, guest).text.splitlines()

    assert listed("/openstack") == [*openstack.VERSIONS]
    assert listed("/openstack/2013-04-04") == ["meta_data.json", "user_data", "password"]
    assert listed("/2009-04-04") == ["meta-data/", "user-data"]
    assert "placement/" in listed("/latest/meta-data")
    assert listed("/latest/meta-data/public-keys") == ["0=mine"]
    assert listed("/latest/meta-data/public-keys/0") == ["openssh-key"]


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS"])
@pytest.mark.parametrize("path", ["/", "/healthcheck"])
def test_balancers_are_answered_who_are_no_guests(service, method, path):
    assert service.client.simulate_request(method, path).status_code == 200


def test_anybody_learns_which_versions_there_are(service):
    answer = service.client.simulate_get("/")
    assert answer.text.splitlines() == [*ec2.VERSIONS]


@pytest.mark.parametrize(
    "path",
    [
        "/openstack/2011-01-01/meta_data.json",
        "/openstack/2012-08-10/network_data.json",
        "/openstack/latest/nothing",
        "/openstack/latest/../../etc/passwd",
        "/openstack/latest/%2e%2e/latest/meta_data.json",
        "/openstack/latest/..%2f..%2fetc/passwd",
        "/openstack//latest/meta_data.json",
        "/openstack/content/0001",
        "/openstack/content/../latest/meta_data.json",
        "/latest/meta-data/public-keys/1",
        "/1.0/meta-data/placement",
        "/2026-01-01/meta-data",
        "/meta_data.json",
        "/%00",
        "/" + "a/" * 5000,
    ],
)
def test_what_is_not_there_is_not_found(service, guest, path):
    assert service.get(path, guest).status_code == 404


def test_a_wrong_signature_is_refused(service, guest, place):
    wrong = [
        "",
        "x",
        "\xff",
        signed(guest.uuid).upper(),
        signed(guest.uuid, secret="guess"),
        signed(place().uuid),
        signed(guest.uuid)[:-1],
    ]
    for signature in wrong:
        answer = service.ask(
            "/openstack/latest/meta_data.json",
            guest,
            headers={"X-Instance-ID-Signature": signature},
        )
        assert (answer.status_code, guest.uuid in answer.text) == (403, False), signature


@pytest.mark.parametrize("name", ["X-Instance-ID", "X-Tenant-ID"])
@pytest.mark.parametrize("value", ["", "a,b"])
def test_who_asks_must_be_said_once(service, guest, name, value):
    answer = service.ask("/latest/meta-data", guest, headers={name: value})
    assert answer.status_code == 400
    assert name in answer.text


def test_another_projects_instance_is_not_there_even_if_it_is_remembered(service, guest):
    path = "/openstack/latest/meta_data.json"
    for _ in range(2):
        assert service.ask(path, guest, headers={"X-Tenant-ID": "other"}).status_code == 404
        assert service.get(path, guest).status_code == 200


@pytest.mark.parametrize(
    "name", ["not-a-uuid", "../../etc", "0f0f0f0f-0f0f-4f0f-8f0f-0f0f0f0f0f0f"]
)
def test_who_is_no_instance_is_told_nothing(service, guest, name):
    headers = {"X-Instance-ID": name, "X-Instance-ID-Signature": signed(name)}
    assert service.ask("/latest", guest, headers=headers).status_code == 404


def test_a_server_that_is_not_placed_or_deleted_is_not_there(service, world, guest):
    assert service.get("/latest", world.build_request(uuid=a_uuid())).status_code == 404
    with world.databases[CELL1].begin() as session:
        instances.mark_deleted(session, guest.uuid)
    assert service.get("/latest", guest).status_code == 404


def test_what_was_read_is_remembered_for_some_seconds(service, world, guest):
    def name():
        return service.get("/openstack/latest/meta_data.json", guest).json["name"]

    first = name()
    with world.databases[CELL1].begin() as session:
        instances.update(session, guest.uuid, {"display_name": "new"}, expected={})
    service.clock.now = 4.9
    assert name() == first
    service.clock.now = 5.1
    assert name() == "new"


def test_a_password_is_told_once_and_read_back(service, world, guest):
    assert service.get("/openstack/latest/password", guest).content == b""
    assert service.tell(guest, "ZW5jcnlwdGVk").status_code == 200
    assert service.get("/openstack/latest/password", guest).text == "ZW5jcnlwdGVk"
    assert service.tell(guest, "b3RoZXI=", version="2013-04-04").status_code == 409
    with world.databases[CELL1].read() as session:
        assert guest_config.read_password(session, guest.uuid) == "ZW5jcnlwdGVk"
        assert guest_config.find(session, guest.uuid).files  # as they were


@pytest.mark.parametrize("password", [b"", b"x" * 1021, b"x" * 10_000_000, b"\xff\x00"])
def test_a_password_that_cannot_be_one_is_refused(service, guest, password):
    assert service.tell(guest, password).status_code == 400
    assert service.get("/openstack/latest/password", guest).content == b""


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/openstack/2012-08-10/password"),
        ("POST", "/openstack/latest/meta_data.json"),
        ("PUT", "/openstack/latest/password"),
        ("DELETE", "/openstack/latest/password"),
        ("POST", "/"),
    ],
)
def test_nothing_else_can_be_written(service, guest, method, path):
    assert service.ask(path, guest, method, body="x").status_code == 405


def test_a_cell_that_is_away_is_told_at_once_and_others_are_served(
    service, guest, place, world, monkeypatch
):
    other = place(CELL2)
    away = exception.Away("the database of cell1 at secret-host is away")
    monkeypatch.setattr(world.parts.cells.get(CELL1), "database", Failing(away))
    answer = service.get("/latest", guest)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "secret-host" not in answer.text
    assert service.get("/latest", other).status_code == 200


def test_an_accident_tells_only_the_name_of_its_request(service, guest, world, monkeypatch):
    failing = Failing(RuntimeError("inner thing"))
    monkeypatch.setattr(world.parts.cells.get(CELL1), "database", failing)
    with log_lines.recorded() as lines:
        answer = service.get("/latest", guest)
    assert answer.status_code == 500
    assert "inner" not in answer.text
    assert {line.request_id for line in lines} == {answer.headers["x-openstack-request-id"]}
    assert "GET /latest failed" in [line.text for line in lines]


def test_each_request_is_recorded_with_its_id_and_guest(service, guest):
    with log_lines.recorded() as lines:
        answer = service.get("/latest/meta-data", guest)
    assert lines[-1].request_id == answer.headers["x-openstack-request-id"]
    assert f"[instance: {guest.uuid}]" in lines[-1].text
    assert lines[-1].text.endswith(": 200")


class Failing:
    """A database that cannot be read."""

    def __init__(self, error):
        self._error = error

    def read(self):
        raise self._error


class TestByAddress:
    """A service beside one host, whose networks let no guest use another's address."""

    @pytest.fixture
    def client(self, world, guests, monkeypatch):
        monkeypatch.setattr(world.parts.cells, "of_host", lambda _: world.parts.cells.get(CELL1))
        identity = ByAddress(world.parts.cells, host="h1", networks=[PRIVATE.id])
        return falcon.testing.TestClient(make_app(guests, identity))

    @pytest.fixture
    def plug(self, world):
        def plug(instance, *, host="h1"):
            with world.databases[CELL1].begin() as session:
                info = ports.allocate(
                    session,
                    instance_uuid=instance.uuid,
                    host=host,
                    requests=[ANY],
                    networks=[PRIVATE],
                )
            return info.vifs[0].ip

        return plug

    def uuid_of(self, client, address, **more):
        answer = client.simulate_get(
            "/openstack/latest/meta_data.json", remote_addr=address, **more
        )
        return answer.json["uuid"] if answer.status_code == 200 else answer.status_code

    def test_a_guest_is_known_by_its_address(self, client, guest, place, plug):
        other = place()
        addresses = {each.uuid: plug(each) for each in (guest, other)}
        for uuid, address in addresses.items():
            assert self.uuid_of(client, address) == uuid
            assert self.uuid_of(client, f"::ffff:{address}") == uuid

    def test_headers_make_nobody_another(self, client, guest, place, plug):
        address = plug(guest)
        headers = headers_of(place()) | {"X-Forwarded-For": "10.0.0.9"}
        assert self.uuid_of(client, address, headers=headers) == guest.uuid

    def test_an_address_that_nobody_here_has_is_told_nothing(self, client, guest, place, plug):
        plug(guest)
        elsewhere = plug(place(host="h2"), host="h2")
        assert self.uuid_of(client, elsewhere) == 404
        assert self.uuid_of(client, "10.0.0.254") == 404
        assert self.uuid_of(client, "not an address") == 400

    def test_an_address_is_the_next_guests_at_once(self, client, guest, place, plug, world):
        address = plug(guest)
        assert self.uuid_of(client, address) == guest.uuid
        with world.databases[CELL1].begin() as session:
            ports.free(session, guest.uuid)
        assert self.uuid_of(client, address) == 404

    def test_a_guest_that_has_moved_away_is_not_served_here(self, client, place, plug):
        assert self.uuid_of(client, plug(place(host="h2"))) == 404
