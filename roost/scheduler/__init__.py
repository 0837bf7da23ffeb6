"""The scheduler service: selects hosts and keeps claims. Other packages import only ``client.py``.

From a request to a claim: ``manager.py`` serves the call, ``batches.py`` decides concurrent ones
together in one transaction, ``drivers/`` choose hosts with ``engine.py``: those that pass
``filters/``, in the order of ``weighers/``; ``claim_transaction.py`` applies the claims, and a
request that lost a race is decided again. Hosts are NumPy columns (``hosts.py``, ``columns.py``),
refreshed by ``table.py``; ``reports.py`` stores reports of hosts, ``liveness.py`` decides which
hosts are up, ``explain.py`` explains why no host was found.

Reads no database but its own (``db.scheduler``); ``client.py`` imports ``rpc`` and ``objects``
alone.
"""
