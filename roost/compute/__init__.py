"""One host: builds and ends its guests, and reports what it has.

``manager.py`` is the table of contents of what cells may ask; ``build.py`` the steps of a build,
with their undos; ``operations/`` what is done to guests that are there; ``reconcile.py`` compares
guests with rows; ``resource_tracker.py`` and ``host_report.py`` count and report. ``leases.py``
keeps a host from working on what is not its own any more. ``virt/`` and ``network/`` are the
drivers.

Reads and writes data only by its cell-conductor (``rpc``): never imports ``db``. May import
``image``, ``servicegroup``, ``guestdata``, ``rpc``, ``external`` and below, and the scheduler's
client.
"""
