"""One instance at a time through the bus, beside what was measured of OpenStack Nova.

The peer's figures are of Nova 34.0.0 and Placement 16.0.0 on an equal machine (2 cores, shared and
noisy), RabbitMQ and MariaDB, with ``max_placement_results`` as given and ``track_instance_changes``
on, which is its faster mode. CPU is that of scheduler, placement and database.
"""

from tests.bench import meters
from tests.bench.scheduler import over_bus

# hosts, limit, callers: ms p50, per second, CPU ms, RSS of scheduler and placement in MiB
PEER = {
    (100, 1000, 1): (183, 4.25, 190, 156 + 117),
    (100, 1000, 4): (726, 4.88, 202, 161 + 118),
    (1000, 1000, 1): (1324, 0.75, 1087, 250 + 119),
    (1000, 1000, 4): (4234, 0.91, 1119, 253 + 119),
    (5000, 5000, 1): (7774, 0.12, 5250, 626 + 140),
    (5000, 5000, 4): (18534, 0.21, 5370, 639 + 140),
    (10_000, 1000, 1): (5022, 0.19, 5090, 745 + 156),
    (10_000, 1000, 4): (12686, 0.26, 5053, 747 + 157),
    (10_000, 10_000, 1): (8553, 0.11, 10845, 746 + 154),
    (10_000, 10_000, 4): (38201, 0.10, 11516, 942 + 156),
}


def bench(kind, *, seconds):
    """Print our figures beside the peer's, for the same numbers of hosts and callers."""
    ours = {
        (hosts, callers): over_bus.measure(kind, hosts, callers=callers, seconds=seconds)
        for hosts, callers in dict.fromkeys((hosts, callers) for hosts, _, callers in PEER)
    }
    rows = []
    for (hosts, limit, callers), (p50, rate, cpu, memory) in PEER.items():
        own = ours[hosts, callers]
        spent = own["us scheduler"] + own["us database"]
        rows.append(
            {
                "hosts": hosts,
                "limit": limit,
                "callers": callers,
                "Nova p50 ms": p50,
                "Roost p50 ms": own["p50 ms"],
                "Nova /s": rate,
                "Roost /s": own["calls/s"],
                "Nova CPU ms": cpu,
                "Roost CPU ms": round(spent / 1e3, 2),
                "Nova MiB": memory,
                "Roost MiB": own["MiB"],
            }
        )
    meters.table("select_destinations for one instance", rows)
