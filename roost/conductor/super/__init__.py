"""What super-conductors do: they place build requests, and read and write the API's database.

``manager.py`` is what they serve, ``boot.py`` the boot from a leased build request to the cast to
a host, ``sweeper.py`` takes up requests whose lease ran out. ``soft_delete.py`` brings soft
deletes and restores to cells, ``scheduler_sync.py`` sends aggregates and groups to schedulers,
``purge.py`` removes what was deleted long ago.
"""
