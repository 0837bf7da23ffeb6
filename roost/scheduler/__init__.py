"""Places instances, and nothing else. Others know ``client.py`` alone; the rest is the service.

From a request to a claim: ``manager.py`` takes the call, ``batches.py`` decides concurrent ones
together in one transaction, ``engine.py`` asks a driver of ``drivers/`` for hosts that pass
``filters/`` in the order of ``weighers/``, ``claim_transaction.py`` commits the claims by
conditional updates, and who lost a race looks again. Hosts are NumPy columns (``hosts.py``,
``columns.py``), kept fresh by ``table.py``; ``reports.py`` takes in what hosts say,
``liveness.py`` which of them are up, ``explain.py`` why not.

Reads no database but its own (``db.scheduler``); ``client.py`` imports ``rpc`` and ``objects``
alone.
"""
