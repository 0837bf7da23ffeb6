"""Guests of QEMU, kept by libvirt: ``[compute] virt_driver = libvirt``.

``driver.py`` says what a host does, in the words of the seam. A guest is described by values
(``domain.py`` and its parts: ``cpus.py``, ``devices.py``, ``disks.py``, ``interfaces.py``,
``firmware.py``) that become XML, and all that it has on disk is in one folder (``folder.py``).
``hardware.py`` reads flavor and image, ``node.py`` and ``probe.py`` the host, ``guests.py`` works
on a guest that is there, ``migration_source.py`` and ``migration_destination.py`` move one.
``connection.py`` is the one connection.

Only what speaks with libvirt imports its binding; nobody imports this package unless the options
name it.
"""
