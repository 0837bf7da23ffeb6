"""A scheduler that places servers into groups, many at once, while others do the same.

Run as a process by the tests of group races, ``python -m tests.integration.group_race_scheduler``:
what
:func:`place` takes comes as JSON on standard input, what it returns goes to standard output.
"""

from roost import concurrency

if __name__ == "__main__":
    concurrency.select()

import concurrent.futures
import contextlib
import json
import sys

from roost import conf, exception
from roost.db.engine import Database
from roost.scheduler import plugins
from roost.scheduler.manager import SchedulerManager
from tests.builders import a_context, a_flavor, a_group, a_spec

THREADS = 8
SMALL = {"vcpus": 1, "memory_mb": 1, "root_gb": 0}


@contextlib.contextmanager
def scheduler(url):
    """A scheduler with a connection pool of its own, as the options of a new deployment make it."""
    database = Database(url, connections=THREADS)
    yield SchedulerManager(database, driver=plugins.load_driver(conf.of({}).scheduler))
    database.close()


def place(url, boots):
    """Ask for a host for each instance, given with its group; return host or refusal by instance.

    :param boots: (instance uuid, values of its group)
    """
    with scheduler(url) as manager, concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return dict(pool.map(lambda boot: (boot[0], select(manager, *boot)), boots))


def select(manager, instance, group):
    """Return the host that an instance was given, or why it was given none.

    One that lost to other schedulers every time is asked for again, as super-conductors do.
    """
    spec = a_spec(flavor=a_flavor(**SMALL), image=None, group=a_group(**group))
    while True:
        with contextlib.suppress(exception.Unavailable):
            try:
                ((selection,),) = manager.select_destinations(
                    a_context(), request_spec=spec, instance_uuids=[instance], alternates=0
                )
            except exception.NoValidHost as refused:
                return refused.message
            return selection.host


if __name__ == "__main__":
    json.dump(place(**json.load(sys.stdin)), sys.stdout)
