"""What the users of a rig may not do, tried on the rig itself with what its files say."""

import contextlib
import stat

import kombu
import pytest
import sqlalchemy as sa
from amqp.exceptions import AccessRefused, NotAllowed


class Intruder:
    """Somebody who has broken into the daemons of a level, and knows what their files say."""

    def __init__(self, plan, level):
        self._plan, self._level = plan, level

    @contextlib.contextmanager
    def bus(self, level):
        """A channel to a bus, whose errors are raised at the latest at the end of the block."""
        url = self._plan.bus_url(level, as_=self._level).replace("rabbit://", "amqp://")
        with kombu.Connection(url, transport_options={"confirm_publish": True}) as connection:
            connection.connect()
            yield connection.channel()

    def publishes(self, level, exchange, key):
        with self.bus(level) as channel:
            kombu.Producer(channel).publish("{}", exchange=exchange, routing_key=key)

    @contextlib.contextmanager
    def database(self, whose):
        """A connection to a database by the user of this level."""
        url = self._plan.database_url(whose, as_=self._level)
        engine = sa.create_engine(url, poolclass=sa.pool.NullPool)
        with engine.connect() as connection:
            yield connection


def check_buses(plan):
    """A cell's daemons ask the schedulers, and do nothing else on the bus of the API level."""
    api, cell = plan.bus_name("api"), Intruder(plan, "cell1")
    cell.publishes("api", api, f"{api}.scheduler.x")
    for key in (f"{api}.super-conductor", f"{api}.super-conductor.x", "#"):
        with pytest.raises(AccessRefused):
            cell.publishes("api", api, key)
    for queue in (f"{api}.super-conductor", f"{api}.scheduler"):
        with pytest.raises(AccessRefused, match=r"amq\.default"):
            cell.publishes("api", "", queue)
        with pytest.raises(AccessRefused), cell.bus("api") as channel:
            channel.basic_get(queue)
        with pytest.raises(AccessRefused), cell.bus("api") as channel:
            channel.queue_purge(queue)
    _check_answers(plan, cell)
    with pytest.raises(NotAllowed), cell.bus("cell2"):
        pass


def _check_answers(plan, cell):
    """Its answers are its own: it can neither listen to others' nor divert what others are sent."""
    api, own = plan.bus_name("api"), f"reply_{plan.bus_user('cell1')}_mine"
    with pytest.raises(AccessRefused), cell.bus("api") as channel:
        channel.queue_declare(f"reply_{plan.bus_user('cell2')}_x")
    with cell.bus("api") as channel:
        channel.queue_declare(own, exclusive=True)
        with pytest.raises(AccessRefused):
            channel.queue_bind(own, api, routing_key="#")


def check_api_level(plan):
    """The API level asks a cell's hosts, and can pass itself off neither as them nor to others."""
    bus, api = plan.bus_name("cell1"), Intruder(plan, "api")
    api.publishes("cell1", bus, f"{bus}.compute.x")
    with pytest.raises(AccessRefused):
        api.publishes("cell1", bus, f"{bus}.cell-conductor")
    with pytest.raises(AccessRefused), api.bus("cell1") as channel:
        channel.basic_get(f"{bus}.cell-conductor")
    with pytest.raises(AccessRefused):
        api.publishes("cell1", "", f"{bus}.cell-conductor")


def check_databases(plan):
    """Daemons change the rows of their own level, and no table."""
    for level, own in (("api", "api"), ("api", "cell0"), ("api", "cell1"), ("cell1", "cell1")):
        with Intruder(plan, level).database(own) as connection:
            table = sa.inspect(connection).get_table_names()[0]
            connection.execute(sa.text(f"DELETE FROM {table} WHERE 1 = 0"))
            with pytest.raises(sa.exc.DBAPIError):
                connection.execute(sa.text("CREATE TABLE mine (id INTEGER)"))
        with Intruder(plan, level).database(own) as connection, pytest.raises(sa.exc.DBAPIError):
            connection.execute(sa.text(f"DROP TABLE {table}"))
    for level, whose in (
        ("cell1", "api"), ("cell1", "cell0"), ("cell1", "cell2"), ("cell1", "scheduler"),
        ("api", "scheduler"), ("scheduler", "api"), ("scheduler", "cell1"),
    ):  # fmt: skip
        with pytest.raises(sa.exc.OperationalError), Intruder(plan, level).database(whose):
            pass


def check_files(plan):
    """Nobody else on the machine reads a password."""
    files = [plan.state / "rig.json", *(plan.state / "etc").iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
