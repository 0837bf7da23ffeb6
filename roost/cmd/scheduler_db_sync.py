"""roost-scheduler-db-sync: creates or upgrades the tables of the schedulers.

For a scheduler that is installed alone; ``roost-manage db sync scheduler`` does the same.
"""

from roost import concurrency

concurrency.select()

from roost import exception, migrations
from roost.cmd import _database, _options


def main() -> None:
    """Bring the database of ``[scheduler_database]`` up to date; exit with a message on failure."""
    conf = _options.load("roost-scheduler-db-sync")
    try:
        database = _database.configured(conf, "scheduler_database")
        migrations.sync(database, migrations.SCHEDULER)
    except exception.RoostError as error:
        raise SystemExit(error.message) from error
    print(f"{database}: {migrations.version(database, migrations.SCHEDULER)}")
    database.close()
