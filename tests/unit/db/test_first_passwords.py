"""A guest tells its password once, whoever else writes down something for it."""

from roost.db.cell import instances, provisions
from roost.objects import Provisions
from tests.builders import an_instance


def test_the_first_password_is_kept_and_no_other(cell_db):
    instance = an_instance()
    with cell_db.begin() as session:
        instances.create(session, instance)
        assert provisions.tell_first_password(session, instance.uuid, "one")
        assert not provisions.tell_first_password(session, instance.uuid, "two")
        assert provisions.told_password(session, instance.uuid) == "one"


def test_a_password_that_was_cleared_may_be_told_anew(cell_db):
    instance = an_instance(provisions=Provisions.of())
    with cell_db.begin() as session:
        instances.create(session, instance)
        provisions.tell_first_password(session, instance.uuid, "one")
        provisions.tell_password(session, instance.uuid, "")
        assert provisions.tell_first_password(session, instance.uuid, "two")
        assert provisions.told_password(session, instance.uuid) == "two"
        assert provisions.find(session, instance.uuid) == Provisions.of()
