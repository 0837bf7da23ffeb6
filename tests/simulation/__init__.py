"""The whole of Roost in one thread, on a hostile bus and a clock of its own, replayed from a seed.

The daemons are those that ``roost.cmd`` builds, from the same configuration files. What is not
real: threads are tasks that take turns (:mod:`.loop`, :mod:`.substitutes`), time jumps from event
to event, databases are SQLite in memory (:mod:`.databases`), and what daemons send each other goes
through :mod:`.network`, which loses, doubles, delays and reorders it, as the seed will have it.

Run it by ``python -m tests.simulation``.
"""

from roost import concurrency

concurrency.select([])
