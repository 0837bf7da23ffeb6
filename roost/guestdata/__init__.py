"""What a guest is told of itself: the documents that it reads over the wire or from a drive.

Pure: from values to bytes. ``about.py`` is all there is to tell, ``openstack.py`` and ``ec2.py``
the two forms, ``vendor_data.py`` the operator's part, ``signature.py`` proves who asks.
``metadata/`` serves them, ``compute/config_drive.py`` writes drives.

May import ``objects`` and below; no options, no SQL.
"""

from roost.guestdata.about import About, Operator, Tree

__all__ = ["About", "Operator", "Tree"]
