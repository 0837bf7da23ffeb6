"""The super-conductor: places build requests, and reads and writes the API database.

``manager.py`` is the RPC server, ``boot.py`` the boot from a leased build request to the cast to a
host, ``sweeper.py`` takes up requests whose lease has expired. ``soft_delete.py`` sends soft
deletes and restores to cells, ``scheduler_sync.py`` sends aggregates and groups to schedulers,
``purge.py`` removes servers that were deleted long ago.
"""
