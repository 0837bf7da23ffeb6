"""The super-conductor: places build requests, and reads and writes the API database.

``manager.py`` is the RPC server. ``boot_service.py`` leases build requests and asks the scheduler,
``boot.py`` has the steps that place each instance, up to the cast to its host, and ``sweeper.py``
takes up requests whose lease has expired. ``soft_delete.py`` settles soft deletes and restores, and
reclaims servers, ``scheduler_sync.py`` sends aggregates and groups to schedulers, ``purge.py``
removes servers that were deleted long ago.
"""
