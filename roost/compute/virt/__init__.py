"""Drivers that run the guests of a host.

``driver.py`` is the driver interface (entry points ``roost.compute.virt``): a core that every
driver implements, and a small protocol for each optional capability; a driver that implements it
has the capability. ``live_migration.py`` is the interface for live migration, ``capabilities.py``
reports the capabilities to the scheduler as traits. What changes on a host, a driver may offer as
collectors: ``OffersCollectors`` of ``compute/collectors.py``. ``fake/`` simulates a hypervisor,
``libvirt/`` runs QEMU. Drivers use objects and their own options, but no RPC, databases or
schedulers.
"""
