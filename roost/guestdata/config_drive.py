"""All files of a config drive."""

from roost.guestdata import ec2, openstack
from roost.guestdata.about import About
from roost.guestdata.tree import Tree


def tree(about: About) -> Tree:
    """Return OpenStack's documents, and EC2's; but no place for passwords: nobody writes there."""
    files = openstack.tree(about) | ec2.drive(about)
    return {path: data for path, data in files.items() if not path.endswith("/password")}
