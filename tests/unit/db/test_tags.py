"""Lists by tags: of the rows of a cell, by their index, and of wishes, which must mean the same."""

import pytest
import sqlalchemy as sa

from roost.db.api import build_requests
from roost.db.cell import instance_lists, instances, metadata, models
from roost.db.instance_query import Wanted
from tests.builders import a_spec, a_uuid, a_wish, an_instance
from tests.unit.db.test_instance_lists import _listed, _wished

_TAGS = {
    "none": [],
    "a": ["a"],
    "ab": ["a", "b"],
    "blank": ["a "],
    "upper": ["A"],
    "accent": ["á", "😀"],
    "quoted": ['"a", "b"', "%", "\\"],
}


@pytest.fixture(params=["cell", "wishes"])
def listed(request, cell_db, api_db):
    """Both kinds of source must list alike."""
    made = [an_instance(display_name=name, tags=tags) for name, tags in _TAGS.items()]
    spec = a_spec(num_instances=len(made))
    if request.param == "cell":
        with cell_db.begin() as session:
            for instance in made:
                instances.create(session, instance)
        return lambda **wanted: set(_listed(cell_db, **wanted))
    with api_db.begin() as session:
        wishes = [a_wish(spec, instance=one, created_at=one.created_at) for one in made]
        build_requests.create(session, wishes, spec=spec)
    return lambda **wanted: set(_wished(api_db, **wanted))


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        ([["a"]], {"a", "ab"}),
        ([["a"], ["a"]], {"a", "ab"}),
        ([["a"], ["b"]], {"ab"}),
        ([["a", "b"]], {"a", "ab"}),
        ([["a"], ["b", "x"]], {"ab"}),
        ([["a "]], {"blank"}),
        ([["A"]], {"upper"}),
        ([["😀"]], {"accent"}),
        ([["%"]], {"quoted"}),
        ([['"a", "b"'], ["\\"]], {"quoted"}),
        ([["a", "A", "á"]], {"a", "ab", "upper", "accent"}),
        ([["x"]], set()),
        ([[str(number)] for number in range(80)], set()),
    ],
)
def test_tags_must_all_be_there_and_one_of_each_group(listed, tags, names):
    assert listed(tags=tags) == names


@pytest.mark.parametrize(
    ("not_tags", "missing"),
    [
        ([["a"]], {"a", "ab"}),
        ([["a"], ["A"]], {"a", "ab", "upper"}),
        ([["a", "b"]], {"ab"}),
        ([["a", "a"]], {"a", "ab"}),
        ([["x"]], set()),
        ([["a", "x"]], set()),
        ([["á", "😀"], ["%"]], {"accent", "quoted"}),
        ([["a ", "a"]], set()),
    ],
)
def test_other_tags_must_not_be_there_or_not_together(listed, not_tags, missing):
    assert listed(not_tags=not_tags) == _TAGS.keys() - missing


def _indexed(session):
    return session.scalar(sa.select(sa.func.count()).select_from(models.instance_tags))


def test_an_instance_that_is_taken_back_leaves_no_tags(cell_db):
    made = an_instance(tags=["a"])
    with cell_db.begin() as session:
        assert [instances.create(session, made) for _ in range(2)] == [True, False]
        assert _indexed(session) == 1
        instances.remove(session, [made.uuid])
        assert _indexed(session) == 0


def test_a_buried_instance_is_still_found_by_its_tags(cell_db):
    made = an_instance(tags=["a"])
    with cell_db.begin() as session:
        instances.create(session, made)
        instances.mark_deleted(session, made.uuid)
        assert metadata.find(session, made.uuid, metadata.TAGS) is None
    assert _listed(cell_db, tags=[["a"]], deleted=True) == ["server"]


def test_a_tag_is_looked_for_in_the_index(cell_db):
    with cell_db.begin() as session:
        for number in range(300):
            instances.create(session, an_instance(tags=[f"t{number}"]))
    with cell_db.read() as session:
        plan = _plan(session, Wanted(tags=[["t7"]]))
    assert "instance_tags_by_digest" in plan


def _plan(session, wanted):
    query = sa.select(models.instances.c.uuid).where(*instance_lists._conditions(wanted))
    compiled = query.compile(session.engine, compile_kwargs={"literal_binds": True})
    return str(session.exec_driver_sql(f"EXPLAIN QUERY PLAN {compiled}").all())


def test_a_swap_needs_what_was_there_and_the_state_that_it_was_in(cell_db):
    made = an_instance(tags=["a", "b"])
    with cell_db.begin() as session:
        instances.create(session, made)
        before = metadata.find(session, made.uuid, metadata.TAGS)
        assert metadata.swap(session, made.uuid, metadata.TAGS, before=before, value=["b", "c"])
        assert not metadata.swap(session, made.uuid, metadata.TAGS, before=before, value=["d"])
        after = metadata.find(session, made.uuid, metadata.TAGS)
        assert (after.value, _indexed(session)) == (["b", "c"], 2)
        other = metadata.Note("another", after.text)
        assert not metadata.swap(session, made.uuid, metadata.TAGS, before=other, value=["d"])
        assert not metadata.swap(session, a_uuid(), metadata.TAGS, before=after, value=["d"])
