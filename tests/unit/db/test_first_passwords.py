"""A guest tells its password once, whoever else writes down something for it."""

from roost.db.cell import guest_config, instances
from roost.objects import GuestConfig
from tests.builders import an_instance


def test_the_first_password_is_kept_and_no_other(cell_db):
    instance = an_instance()
    with cell_db.begin() as session:
        instances.create(session, instance)
        assert guest_config.save_first_password(session, instance.uuid, "one")
        assert not guest_config.save_first_password(session, instance.uuid, "two")
        assert guest_config.read_password(session, instance.uuid) == "one"


def test_a_password_that_was_cleared_may_be_told_anew(cell_db):
    instance = an_instance(provisions=GuestConfig.of())
    with cell_db.begin() as session:
        instances.create(session, instance)
        guest_config.save_first_password(session, instance.uuid, "one")
        guest_config.save_password(session, instance.uuid, "")
        assert guest_config.save_first_password(session, instance.uuid, "two")
        assert guest_config.read_password(session, instance.uuid) == "two"
        assert guest_config.find(session, instance.uuid) == GuestConfig.of()
