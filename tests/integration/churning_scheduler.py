"""A scheduler that selects, moves, releases and takes in reports without end, to be killed.

Run as a process by the tests of kills, ``python -m tests.integration.churning_scheduler URL SEED``;
says ``ready`` when it begins.
"""

from roost import concurrency

if __name__ == "__main__":
    concurrency.select()

import concurrent.futures
import contextlib
import itertools
import random
import sys
import uuid

from roost import exception
from roost.db.types import utcnow
from tests.builders import a_context, a_flavor, a_group, a_report, a_selection, a_spec
from tests.integration.group_race_scheduler import scheduler

THREADS = 6
HOSTS = [f"h{number}" for number in range(8)]
SIZES = [1, 0, 512, 1]
INSTANCES = [str(uuid.UUID(int=number)) for number in range(1, 61)]
GROUP = {"uuid": str(uuid.UUID(int=999)), "policy": "anti-affinity"}
GROUPED = INSTANCES[:12]  # more than there are hosts


def spec_of(instance):
    group = a_group(**GROUP) if instance in GROUPED else None
    return a_spec(flavor=a_flavor(vcpus=1, memory_mb=512, root_gb=1), group=group)


def stir(manager, dice):
    """Do one thing or another to some instance."""
    instance, host = dice.choice(INSTANCES), dice.choice(HOSTS)
    with contextlib.suppress(exception.Conflict, exception.NoCapacity, exception.Unavailable):
        match dice.randrange(6):
            case 0:
                manager.release_claims(a_context(), instance_uuids=[instance])
            case 1:
                manager.move_claim(
                    a_context(),
                    instance_uuid=instance,
                    request_spec=spec_of(instance),
                    to=a_selection(host),
                )
            case 2:
                manager.update_resource_stats(a_context(), report=report(host, dice))
            case 3:
                manager.select_destinations(
                    a_context(),
                    request_spec=spec_of(instance),
                    instance_uuids=[instance],
                    alternates=0,
                    beside=host,
                )
            case _:
                manager.select_destinations(
                    a_context(),
                    request_spec=spec_of(instance),
                    instance_uuids=[instance],
                    alternates=1,
                )


def report(host, dice):
    """What a host might say: some of its instances, of which some are built."""
    seen = dice.sample(INSTANCES, 5)
    return a_report(host, instances=seen, reported_at=utcnow())


def main(url, seed):
    with scheduler(url) as manager, concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        print("ready", flush=True)
        for round_ in itertools.count():
            dice = [random.Random(f"{seed}-{round_}-{each}") for each in range(THREADS * 4)]
            list(pool.map(lambda each: stir(manager, each), dice))


if __name__ == "__main__":
    main(*sys.argv[1:])
