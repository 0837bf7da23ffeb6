"""The conductors: ``super/`` above the cells, ``cell/`` within one.

A flow is a file: ``super/boot.py`` places build requests and hands them to hosts,
``cell/reschedule.py`` sends a build that failed to another host, ``cell/delete.py`` ends what was
deleted, and each side's ``sweeper.py`` takes up what its worker left. ``placement_query.py`` asks
the scheduler for either of them, ``failures.py`` says why a server has no host.

May import ``cells`` (only ``super/``), ``servicegroup``, ``rpc``, ``db`` and below, and the
scheduler's client.
"""
