"""The scheduler's own database: hosts, claims, server groups, aggregates.

``claims.py`` commits claims by conditional updates, ``reports.py`` stores the reports of hosts,
``usage.py`` and ``recount.py`` keep the sums of claims. Only ``roost.scheduler`` imports it.
"""
