"""The conductors: ``super/`` above the cells, ``cell/`` within one.

Each workflow is a file: ``super/boot.py`` places instances and sends them to hosts,
``cell/operations/`` takes operations to their end, and failed builds to another host, and each
``sweeper.py`` takes up abandoned tasks. ``placement_query.py`` queries the
scheduler for both conductors, ``failures.py`` records why an instance has no host,
``notifications.py`` notifies other services of what is done to servers.

May import ``cells`` (only ``super/``), ``servicegroup``, ``rpc``, ``db`` and below, and the
scheduler's client.
"""
