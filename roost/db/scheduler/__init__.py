"""The scheduler's own database: hosts, claims, server groups, aggregates.

``claims.py`` commits places by conditional updates, ``reports.py`` takes in what hosts say of
themselves, ``usage.py`` and ``recount.py`` are sums. Only ``roost.scheduler`` imports it.
"""
