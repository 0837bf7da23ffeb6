"""All SQL: ``api/``, ``cell/`` and ``scheduler/``, one per schema.

Functions take a session first and return objects; models never leave this room; the caller owns
the transaction, so that one step is one transaction. Which database it is, is an argument. A
module of functions is named after its noun. ``engine.py`` is a database reached by URL, with
retries; ``drivers.py`` what differs among PostgreSQL, MariaDB and SQLite; ``guarded.py`` puts a
circuit breaker around one; ``ordering.py``, ``patterns.py`` and ``instance_query.py`` make lists.

May import ``migrations``, ``hardware``, ``objects`` and below.
"""
