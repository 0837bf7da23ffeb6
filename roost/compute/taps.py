"""The name of the tap that a guest's port is plugged by: hypervisors and networks must agree."""

from typing import Final

_LENGTH: Final = 14  # names of links have 15 characters at most


def tap_of(port_id: str) -> str:
    """Return the name by which Neutron's agents, too, find the port on its host."""
    return f"tap{port_id}"[:_LENGTH]
