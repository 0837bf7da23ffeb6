"""Config drives: who gets one, what is on it, and what is left of it."""

import io
import json
import stat

import pycdlib
import pytest

from roost import exception
from roost.compute import config_drive
from roost.compute.config_drive import ConfigDrives
from roost.compute.operations.build import Build, build_flow, carry_out
from roost.guestdata import About, Operator
from roost.objects import GuestConfig, InjectedFile, NetworkInfo
from tests.builders import a_context, a_uuid, an_image, an_instance
from tests.operation_rows import a_build

NO_NETWORK = NetworkInfo.of(vifs=[])


class Disc:
    """A CD, as a guest sees it."""

    def __init__(self, data):
        self._disc = pycdlib.PyCdlib()
        self._disc.open_fp(io.BytesIO(data))

    @property
    def label(self):
        return self._disc.pvd.volume_identifier.decode().strip()

    def files(self, names):
        """All files by path, through the names of ``rr`` or ``joliet``."""
        return {
            f"{folder}/{name}".strip("/"): self._read(f"{folder}/{name}", names)
            for folder, _, found in self._disc.walk(**{f"{names}_path": "/"})
            for name in found
        }

    def _read(self, path, names):
        data = io.BytesIO()
        self._disc.get_file_from_iso_fp(data, **{f"{names}_path": path.replace("//", "/")})
        return data.getvalue()


@pytest.fixture
def make_drives(tmp_path):
    def make_drives(**values):
        return ConfigDrives(folder=tmp_path / "drives", operator=Operator(domain="here"), **values)

    return make_drives


@pytest.fixture
def drives(make_drives):
    return make_drives()


def disc_of(drives, instance):
    with drives.made(instance, NO_NETWORK) as path:
        return Disc(path.read_bytes())


def carry(rig, instance):
    carry_out(Build(rig.host, a_context(), a_build(instance), instance), build_flow())


@pytest.mark.parametrize("names", ["rr", "joliet"])
def test_a_cd_has_the_files_that_it_was_made_of(names):
    deep = {f"ec2/2009-04-04/{number}/meta-data.json": b"x" * number for number in range(30)}
    files = {"openstack/content/0000": bytes(range(256)) * 500, "a": b"", **deep}
    disc = Disc(config_drive.image(files, label="config-2"))
    assert disc.files(names) == files
    assert disc.label == "config-2"


def test_a_drive_has_the_documents_of_its_instance(drives, monkeypatch):
    monkeypatch.setattr("os.urandom", bytes)
    instance = an_instance(config_drive=True, user_data="aGVsbG8=")
    about = About.of(instance, NO_NETWORK, operator=Operator(domain="here"))
    disc = disc_of(drives, instance)
    assert disc.files("joliet") == config_drive.tree(about)
    assert disc.label == "config-2"
    assert disc.files("rr")["openstack/2012-08-10/user_data"] == b"hello"


def test_a_drive_has_files_and_the_password_and_nobody_else_can_read_it(drives):
    files = [InjectedFile.of(path="/etc/banner", contents="aGVsbG8=")]
    given = GuestConfig.of(files=files, admin_password="secret")
    with drives.made(an_instance(config_drive=True, provisions=given), NO_NETWORK) as path:
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        files = Disc(path.read_bytes()).files("rr")
    told = json.loads(files["openstack/latest/meta_data.json"])
    assert told["admin_pass"] == "secret"
    assert told["files"] == [{"content_path": "/content/0000", "path": "/etc/banner"}]
    assert files["openstack/content/0000"] == b"hello"


def test_who_gets_a_drive(drives, make_drives):
    demanding = an_image(properties={"img_config_drive": "mandatory"})
    content = an_image(properties={"img_config_drive": "optional"})
    assert drives.wanted(an_instance(config_drive=True))
    assert drives.wanted(an_instance(image=demanding))
    assert not drives.wanted(an_instance(image=content))
    assert not drives.wanted(an_instance(image=None))
    assert make_drives(force=True).wanted(an_instance())


def test_a_guest_keeps_a_drive_that_tells_the_addresses_of_its_build(rig):
    instance = rig.instance(config_drive=True)
    carry(rig, instance)
    files = Disc(rig.virt.config_drive(instance.uuid).read_bytes()).files("rr")
    assert [*rig.path.glob("drives/*")] == []  # there is one, and it is the guest's
    told = json.loads(files["openstack/latest/network_data.json"])
    assert [network["ip_address"] for network in told["networks"]] == ["10.0.0.2"]


def test_an_instance_with_a_drive_that_it_did_not_ask_for_says_so(rig):
    asked = rig.instance()
    image = rig.image.obj_clone()
    image.properties = {"img_config_drive": "mandatory"}
    forced = rig.instance(image=image)
    for instance in (asked, forced):
        carry(rig, instance)
    assert (asked.config_drive, forced.config_drive) == (False, True)


def test_drives_that_a_killed_daemon_left_are_removed_when_it_starts(rig):
    folder = rig.path / "drives"
    folder.mkdir()
    (folder / f"{a_uuid()}.iso").touch()
    rig.manager().start()
    rig.assert_clean_slate()


def test_it_tells_what_vendors_say_to_the_guest(make_drives):
    def vendors(question):
        return {"join": {"of": question["instance-id"]}}

    instance = an_instance(config_drive=True)
    files = disc_of(make_drives(vendors=vendors), instance).files("rr")
    told = json.loads(files["openstack/latest/vendor_data2.json"])
    assert told == {"static": {}, "join": {"of": instance.uuid}}


def test_where_vendors_must_answer_there_is_no_drive_without(make_drives, tmp_path):
    def vendors(_question):
        raise exception.Unavailable("The vendor data 'join' is unavailable.")

    with (
        pytest.raises(exception.Unavailable),
        make_drives(vendors=vendors).made(an_instance(config_drive=True), NO_NETWORK),
    ):
        pass
    assert not list(tmp_path.glob("drives/*"))
