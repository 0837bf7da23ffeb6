"""Guests of QEMU, kept by libvirt: ``[compute] virt_driver = libvirt``.

``driver.py`` says what a host does, in the words of the seam. A guest is described by values
(``domain.py`` and its parts) that become XML, and all that it has on disk is in one folder
(``folder.py``). Only what speaks with libvirt imports its binding; nobody imports this package
unless the options name it.
"""
