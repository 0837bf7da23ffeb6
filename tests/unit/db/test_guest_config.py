import pytest

from roost import states
from roost.db.cell import guest_config, instances
from roost.objects import BlockDevice, GuestConfig, InjectedFile
from tests.builders import an_instance

_GIVEN = GuestConfig.of(
    files=[InjectedFile.of(path="/etc/motd", contents="aGVsbG8=")],
    block_devices=[BlockDevice.of(source_type="image", boot_index=0, size_mb=1024)],
    admin_password="secret",
)


@pytest.fixture
def instance(cell_db):
    instance = an_instance(provisions=_GIVEN)
    with cell_db.begin() as session:
        instances.create(session, instance)
    return instance


def test_its_host_gets_an_instance_with_its_provisions(cell_db, instance):
    with cell_db.read() as session:
        assert guest_config.get_instance(session, instance.uuid).provisions == _GIVEN


def test_others_read_an_instance_without_them(cell_db, instance):
    with cell_db.read() as session:
        assert instances.get(session, instance.uuid).provisions is None


def test_the_password_is_forgotten_and_the_rest_is_kept(cell_db, instance):
    with cell_db.begin() as session:
        guest_config.forget_password(session, instance.uuid)
        found = guest_config.find(session, instance.uuid)
    assert (found.admin_password, found.files) == (None, _GIVEN.files)


def test_nothing_is_kept_of_a_buried_instance(cell_db, instance):
    with cell_db.begin() as session:
        instances.mark_deleted(session, instance.uuid)
        assert guest_config.find(session, instance.uuid) is None


def test_what_a_guest_tells_of_its_password_is_kept_until_it_is_cleared(cell_db, instance):
    with cell_db.begin() as session:
        assert guest_config.read_password(session, instance.uuid) == ""
        guest_config.save_password(session, instance.uuid, "cipher")
        assert guest_config.read_password(session, instance.uuid) == "cipher"
        guest_config.save_password(session, instance.uuid, "")
        assert guest_config.read_password(session, instance.uuid) == ""
        assert guest_config.find(session, instance.uuid) == _GIVEN


def test_a_guest_tells_its_first_password_once_until_that_is_cleared(cell_db, instance):
    with cell_db.begin() as session:
        assert guest_config.save_first_password(session, instance.uuid, "one")
        assert not guest_config.save_first_password(session, instance.uuid, "two")
        assert guest_config.read_password(session, instance.uuid) == "one"
        guest_config.save_password(session, instance.uuid, "")
        assert guest_config.save_first_password(session, instance.uuid, "two")
        assert guest_config.find(session, instance.uuid) == _GIVEN


@pytest.mark.parametrize(
    ("vm_state", "before", "changes"),
    [
        (
            states.ACTIVE,
            states.REBUILD_BLOCK_DEVICE_MAPPING,
            {"task_state": states.REBUILD_SPAWNING},
        ),
        (states.BUILDING, states.SPAWNING, {"task_state": states.SCHEDULING, "attempt": 2}),
    ],
    ids=["rebuilt", "built elsewhere"],
)
def test_what_a_guest_has_told_goes_before_the_next_one_is_made(cell_db, vm_state, before, changes):
    instance = an_instance(vm_state=vm_state, task_state=before, attempt=1, provisions=_GIVEN)
    with cell_db.begin() as session:
        instances.create(session, instance)
        guest_config.save_first_password(session, instance.uuid, "of the old guest")
        instances.update(session, instance.uuid, changes, expected={"task_state": before})
        assert guest_config.read_password(session, instance.uuid) == ""
        assert guest_config.save_first_password(session, instance.uuid, "of the new one")
        assert guest_config.find(session, instance.uuid) == _GIVEN
