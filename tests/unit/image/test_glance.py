"""What a Glance refuses, or fails to answer, becomes one of our kinds, and never takes long.

That all works with a real Glance is shown by the integration tests.
"""

import io
import time

import pytest

from roost import conf, exception
from roost.image import driver
from roost.image import glance as image_glance
from roost.image.glance import GlanceImageStore
from tests.builders import a_context, an_image
from tests.fakes.http_stub import broken_off, serving

IMAGE = "cccccccc-cccc-4ccc-8ccc-cccccccccccc"
ALICE = a_context(auth_token="token of alice")
TOKENLESS = a_context()
PATH = f"GET /v2/images/{IMAGE}"
FILE = f"{PATH}/file"
DESCRIBED = {
    "id": IMAGE,
    "name": None,
    "status": "active",
    "visibility": "public",
    "owner": "project",
    "disk_format": "raw",
    "container_format": "bare",
    "size": 4,
    "checksum": "4e1243bd22c66e76c2ba9eddc1f91394",
    "os_hash_algo": "sha512",
    "os_hash_value": "0" * 128,
    "min_ram": 0,
    "min_disk": 0,
    "created_at": "2026-01-01T00:00:00Z",
    "updated_at": "2026-01-01T00:00:00Z",
}


@pytest.fixture(scope="module")
def server():
    with serving() as server:
        yield server


@pytest.fixture
def glance(server):
    server.reset()
    version = {"id": "v2.17", "status": "CURRENT", "links": [{"rel": "self", "href": "/v2/"}]}
    server.rules |= {"GET /": {"versions": [version]}, PATH: DESCRIBED, FILE: b"tiny"}
    return server


@pytest.fixture
def options(server):
    ourselves = {"auth_type": "admin_token", "endpoint": server.url, "token": "our own"}
    bounds = {"timeout": 0.3, "connect_retries": 0, "transfer_timeout": 1.0}
    return {"endpoint_override": server.url, **ourselves, **bounds}


@pytest.fixture
def store(glance, options):
    return GlanceImageStore.from_conf(conf.of({"glance": options}))


def drain(store, *, chunk):
    with store.open(ALICE, IMAGE) as data:
        while data.read(chunk):
            pass


def tokens(glance):
    return {headers["X-Auth-Token"] for asked, headers in glance.asked if "/v2/" in asked}


def test_glance_is_a_store_by_its_name(options):
    conf_ = conf.of({"image": {"store": "glance"}, "glance": options})
    assert isinstance(driver.load_store(conf_), GlanceImageStore)


def test_the_token_of_the_user_is_passed_on(store, glance):
    assert store.get(ALICE, IMAGE).size == 4
    assert tokens(glance) == {"token of alice"}


def test_who_has_no_token_is_served_by_our_own(store, glance):
    store.get(TOKENLESS, IMAGE)
    assert tokens(glance) == {"our own"}


@pytest.mark.parametrize("visibility", ["private", "shared"])
def test_our_own_right_shows_nobody_the_images_of_others(store, glance, visibility):
    glance.rules[PATH] = DESCRIBED | {"visibility": visibility, "owner": "other"}
    glance.rules["GET /v2/images"] = {"images": [glance.rules[PATH]]}
    with pytest.raises(exception.NotFound):
        store.get(TOKENLESS, IMAGE)
    assert store.list_images(TOKENLESS) == []
    assert store.get(a_context(is_admin=True), IMAGE).owner == "other"


def test_our_own_right_shows_members_what_is_shared_with_them(store, glance):
    glance.rules[PATH] = DESCRIBED | {"visibility": "shared", "owner": "other"}
    times = {name: DESCRIBED[name] for name in ("created_at", "updated_at")}
    members = [{"member_id": "project", "status": "pending", **times}]
    glance.rules[f"{PATH}/members"] = {"members": members}
    assert store.get(TOKENLESS, IMAGE).owner == "other"
    with pytest.raises(exception.NotFound):
        store.open(a_context(project_id="third"), IMAGE)


@pytest.mark.parametrize("change", ["delete", "abandon"])
def test_our_own_right_changes_no_image_of_others(store, glance, change):
    glance.rules[PATH] = DESCRIBED | {"owner": "other", "status": "queued"}
    with pytest.raises(exception.Forbidden):
        getattr(store, change)(TOKENLESS, IMAGE)


def test_the_versions_of_glance_are_asked_for_once(store, glance):
    for _ in range(3):
        store.get(ALICE, IMAGE)
    assert [asked for asked, _ in glance.asked].count("GET /") == 1


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, exception.Invalid),
        (401, exception.Unauthenticated),
        (403, exception.Forbidden),
        (404, exception.NotFound),
        (429, exception.Unavailable),
        (500, exception.Unavailable),
        (502, exception.Unavailable),
        (503, exception.Unavailable),
    ],
)
def test_what_glance_refuses_is_told_apart(store, glance, status, kind):
    glance.rules[PATH] = status
    with pytest.raises(kind) as failed:
        store.get(ALICE, IMAGE)
    assert type(failed.value) is kind


def test_our_own_token_refused_is_not_the_fault_of_the_user(store, glance):
    glance.rules[PATH] = 401
    with pytest.raises(exception.Unavailable, match="does not know us"):
        store.get(TOKENLESS, IMAGE)


@pytest.mark.parametrize("rubbish", [b"<html>", b"[]", {"id": IMAGE}, DESCRIBED | {"size": "x"}])
def test_rubbish_is_no_image(store, glance, rubbish):
    glance.rules[PATH] = rubbish
    with pytest.raises(exception.Unavailable):
        store.get(ALICE, IMAGE)


def test_a_glance_that_tells_no_versions_is_away_rather_than_empty(store, glance):
    glance.rules["GET /"] = 503
    with pytest.raises(exception.Unavailable):
        store.get(ALICE, IMAGE)


@pytest.mark.parametrize("where", ["GET /", PATH])
def test_a_glance_that_stands_still_is_given_up_in_time(store, glance, where):
    glance.rules[where] = glance.stand_still
    before = time.monotonic()
    with pytest.raises(exception.Unavailable):
        store.get(ALICE, IMAGE)
    assert time.monotonic() - before < 5


def test_a_glance_that_is_not_there_is_unavailable(options):
    with serving() as gone:
        nowhere = options | {"endpoint_override": gone.url}
    store = GlanceImageStore.from_conf(conf.of({"glance": nowhere}))
    with pytest.raises(exception.Unavailable) as failed:
        store.get(ALICE, IMAGE)
    assert gone.url not in failed.value.message  # which may come to users
    assert str(gone.server_port) in failed.value.details["why"]


@pytest.mark.parametrize("status", ["queued", "saving", "deactivated", "killed"])
def test_an_image_that_is_not_active_is_not_read(store, glance, status):
    glance.rules[PATH] = DESCRIBED | {"status": status}
    with pytest.raises(exception.Conflict, match=status):
        store.open(ALICE, IMAGE)


def test_an_image_that_waits_to_be_deleted_is_gone(store, glance):
    glance.rules[PATH] = DESCRIBED | {"status": "pending_delete"}
    with pytest.raises(exception.NotFound):
        store.get(ALICE, IMAGE)


def test_data_that_breaks_off_is_not_the_end_of_an_image(store, glance):
    glance.rules[FILE] = broken_off
    with pytest.raises(exception.Unavailable, match="broke off"):
        drain(store, chunk=100)


def test_data_that_comes_too_slowly_is_given_up(store, glance):
    def drip(handler):
        handler.send_response(200)
        handler.send_header("Content-Length", "1000")
        handler.end_headers()
        while not glance.ended.wait(0.05):
            handler.wfile.write(b"x")

    glance.rules[FILE] = drip
    with pytest.raises(exception.Unavailable, match="too long"):
        drain(store, chunk=1)


def test_data_that_arrived_damaged_is_not_called_whole(store, glance):
    glance.rules[PATH] = DESCRIBED | {"status": "queued"}

    def swallow(handler):
        glance.rules[PATH] = DESCRIBED | {"size": 3}
        handler._send(204)

    glance.rules[f"PUT /v2/images/{IMAGE}/file"] = swallow
    with pytest.raises(exception.Unavailable, match="4 bytes were sent, 3 arrived"):
        store.upload(ALICE, IMAGE, io.BytesIO(b"tiny"))


def test_glance_may_take_longer_over_an_image_than_over_an_answer(store, glance):
    glance.rules[PATH] = DESCRIBED | {"status": "queued"}

    def swallow_slowly(handler):
        glance.ended.wait(0.5)
        glance.rules[PATH] = DESCRIBED | {"os_hash_algo": None}
        handler._send(204)

    glance.rules[f"PUT /v2/images/{IMAGE}/file"] = swallow_slowly
    assert store.upload(ALICE, IMAGE, io.BytesIO(b"tiny")).status == "active"


def test_an_upload_that_is_never_answered_is_given_up(store, glance):
    glance.rules[PATH] = DESCRIBED | {"status": "queued"}
    glance.rules[f"PUT /v2/images/{IMAGE}/file"] = glance.stand_still
    with pytest.raises(exception.Unavailable):
        store.upload(ALICE, IMAGE, io.BytesIO(b"tiny"))


def test_all_pages_are_listed(store, glance):
    def page(handler):
        more = "marker" not in handler.path
        following = {"next": "/v2/images?marker=x"} if more else {}
        handler._send({"images": [DESCRIBED], **following})

    glance.rules["GET /v2/images"] = page
    assert len(store.list_images(ALICE)) == 2


def test_what_is_no_field_of_an_image_is_a_property():
    found = image_glance.image_of(
        DESCRIBED | {"hw_disk_bus": "scsi", "os_glance_importing": "x", "tags": [], "gone": None}
    )
    assert found.properties == {"hw_disk_bus": "scsi"}
    assert found.name == ""


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ({}, "sha512"),
        ({"os_hash_algo": None, "os_hash_value": None}, "md5"),
        ({"os_hash_algo": "vapour"}, "md5"),
        ({"os_hash_value": "../../etc/passwd", "checksum": None}, None),
    ],
)
def test_the_hash_is_the_best_that_can_be_checked(found, expected):
    assert image_glance.image_of(DESCRIBED | found).hash_algo == expected


def test_properties_do_not_pass_for_fields():
    image = an_image(properties={"status": "active", "size": "1", "os_glance_x": "y", "a": "b"})
    document = image_glance.document_of(image)
    assert not document.keys() & {"status", "size", "os_glance_x"}
    assert document["a"] == "b"
