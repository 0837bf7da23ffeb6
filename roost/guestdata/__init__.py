"""What a guest is told of itself: the documents that it reads over the wire or from a drive.

Pure: from values to bytes. ``metadata/`` serves them, ``compute/`` writes them on config drives.
"""

from roost.guestdata.about import About, Operator, Tree

__all__ = ["About", "Operator", "Tree"]
