"""The compute service of one host: builds and deletes its guests, and reports its resources.

``manager.py`` serves the RPC methods; ``build.py`` has the steps of a build and their undos;
``operations/`` acts on existing guests; ``reconcile.py`` compares guests with rows, by the cases of
``reconcile_rules.py``; ``resource_tracker.py`` and ``host_report.py`` count and report.
``leases.py`` stops a host from working on instances that are no longer its own. ``virt/`` and
``network/`` are the drivers.

Reads and writes data only by its cell-conductor (``rpc``): never imports ``db``. May import
``image``, ``servicegroup``, ``guestdata``, ``rpc``, ``external`` and below, and the scheduler's
client.
"""
