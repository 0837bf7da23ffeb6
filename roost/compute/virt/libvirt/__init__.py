"""The libvirt driver, which runs guests with QEMU: ``[compute] virt_driver = libvirt``.

``driver.py`` implements the driver interface. A guest is described by values (``domain.py`` and its
parts: ``cpus.py``, ``devices.py``, ``disks.py``, ``interfaces.py``, ``firmware.py``) that become
XML, and all its files are in one folder (``folder.py``). ``hardware.py`` reads flavor and image,
``node.py`` and ``probe.py`` the host, ``guests.py`` works on an existing guest, ``snapshot.py``
copies its disk, ``migration_source.py`` and ``migration_destination.py`` migrate it.
``connection.py`` is the connection to libvirtd.

Only modules that call libvirt import its binding; this package is imported only if the options name
it.
"""
