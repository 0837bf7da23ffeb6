"""Updates that are built once for each set of columns."""

import pytest
import sqlalchemy as sa

from roost.db import prepared
from roost.db.engine import Database

_table = sa.Table(
    "things",
    sa.MetaData(),
    sa.Column("name", sa.String(10)),
    sa.Column("state", sa.String(10)),
    sa.Column("count", sa.Integer),
)
_MORE = _table.c.count + 1


@pytest.fixture
def database(tmp_path):
    database = Database(f"sqlite:///{tmp_path}/things.sqlite")
    with database.begin() as session:
        _table.create(session)
        rows = [("a", None, 1), ("b", "up", 2), ("c", "down", 3)]
        session.execute(sa.insert(_table), [dict(zip(_table.c.keys(), r)) for r in rows])  # noqa: B905
    yield database
    database.close()


@pytest.mark.parametrize(
    ("where", "changed"),
    [
        ({"state": None}, {"a"}),
        ({"name": "b"}, {"b"}),
        ({"state": {"up", "down"}}, {"b", "c"}),
        ({"state": ("up", None)}, {"a", "b"}),
        ({"state": ()}, set()),
    ],
    ids=["null", "one", "any", "any or null", "none"],
)
def test_only_rows_with_these_values_are_updated_each_time(database, where, changed):
    for _again in range(2):
        with database.begin() as session:
            assert prepared.update(session, _table, where, {"count": _MORE}) == len(changed)
    with database.read() as session:
        more = sa.select(_table.c.name).where(
            _table.c.count.in_((3, 4, 5)), _table.c.name.in_(changed)
        )
        assert {*session.scalars(more)} == changed


def test_the_values_of_one_call_are_not_those_of_the_next(database):
    with database.begin() as session:
        for name in ("a", "b"):
            prepared.update(session, _table, {"name": name}, {"state": f"was {name}"})
        found = session.execute(sa.select(_table.c.name, _table.c.state)).all()
    assert dict(map(tuple, found)) == {"a": "was a", "b": "was b", "c": "down"}
