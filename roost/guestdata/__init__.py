"""The metadata documents of a guest, for the metadata service and config drives.

Pure: from values to bytes. ``about.py`` has the data, ``openstack.py`` and ``ec2.py`` the two
formats, ``vendor_data.py`` the operator's part; ``signature.py`` authenticates requests.
``metadata/`` serves the documents, ``compute/config_drive.py`` writes drives.

May import ``objects`` and below; no options, no SQL.
"""

from roost.guestdata.about import About, Operator, Tree

__all__ = ["About", "Operator", "Tree"]
