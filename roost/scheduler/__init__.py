"""The scheduler service: selects hosts and keeps claims. Other packages import only ``client.py``.

From a request to a claim:

1. ``client.py`` sends ``select_destinations``. ``manager.py`` serves it, and confines the caller to
   its cell. ``claims.py`` makes it a ``Select`` (``claim_requests.py``), and waits for its result.
2. ``batches.py`` begins one transaction for all requests that wait (``claim_transaction.py``).
   ``table.py`` refreshes the hosts in memory, which are NumPy columns (``hosts.py``,
   ``columns.py``); ``liveness.py`` limits the age of the last report of a host that is up.
3. ``Select`` asks the driver, with a ``Request`` made of the ResourceRequest (``request.py``).
   ``drivers/`` has the kinds; ``plugins.py`` has loaded one, its filters and its weighers.
4. ``engine.py`` takes a host for each instance. ``ranking.py`` adds up the ``weighers/`` for all
   hosts, without those that ``filters/`` refuse; ``topology/`` finds NUMA cells and PCI devices.
   Where no host is left, even after all changes of other schedulers were read, ``explain.py`` gives
   the reasons.
5. ``batches.py`` locks the hosts that change. Requests for hosts that another scheduler has changed
   meanwhile are checked again, and decided again if they no longer fit. Then it writes the claims;
   after the commit, ``Select`` has its answer.
6. ``changes.py`` collects what was committed, and ``publishing.py`` sends it in the background: to
   the memory of other schedulers (``HostTable.learn``), and to listeners outside Roost.
7. ``reports.py`` confirms a claim when its host lists the instance. ``claims.py`` deletes claims
   that no host has confirmed in time.

Calls that move, release or restore claims go the same way, without a choice of hosts. ``DryRuns``
of ``explain.py`` decide without claims, and ``simulation/`` without a database.

Reads no database but its own (``db.scheduler``); ``client.py`` imports ``rpc`` and ``objects``
alone.
"""
