"""How databases are reached."""

import pytest

from roost import exception
from roost.db.engine import CONNECT_SECONDS, Database


@pytest.mark.parametrize("url", ["postgresql+psycopg://u@127.0.0.1:1/x", "mysql+pymysql://u@h/x"])
def test_nobody_waits_for_ever_for_a_database_that_does_not_answer(url):
    assert Database(url).engine.url.query["connect_timeout"] == str(CONNECT_SECONDS)


def test_what_a_url_says_is_left_as_it_is():
    database = Database("mysql+pymysql://u@h/x?charset=latin1&connect_timeout=3")
    assert dict(database.engine.url.query) == {"charset": "latin1", "connect_timeout": "3"}


def test_a_database_that_is_away_is_named_without_its_password():
    database = Database("postgresql+psycopg://u:secret@127.0.0.1:1/x")
    with pytest.raises(exception.Unavailable, match=r"127\.0\.0\.1:1/x") as caught, database.read():
        pass
    assert "secret" not in caught.value.message


def test_a_reader_does_not_wait_for_the_writer(api_db):
    with api_db.begin(), api_db.read() as session:
        assert session.exec_driver_sql("SELECT 1").scalar() == 1
