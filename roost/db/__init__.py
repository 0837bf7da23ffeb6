"""All SQL: ``api/``, ``cell/`` and ``scheduler/``, one per schema.

Functions take a session first and return objects; table models never leave this package; the
caller owns the transaction, so that one step is one transaction. The database is an argument. A
module of functions is named after its noun. ``engine.py`` connects to a database by URL, with
retries; ``drivers.py`` what differs among PostgreSQL, MariaDB and SQLite; ``guarded.py`` puts a
circuit breaker around one; ``ordering.py``, ``patterns.py`` and ``instance_query.py`` serve lists.

May import ``migrations``, ``hardware``, ``objects`` and below.
"""
