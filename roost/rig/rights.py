"""Who may do what on the buses of a rig, at the least: what doc/security.rst tells operators.

Daemons of a level do all on their own bus, where they serve. On the buses of others they are
guests: they publish to the topics named here, and have queues of answers of their own.
"""

import re
from collections.abc import Sequence
from typing import Final

from roost.rig.plan import API_LEVEL, Plan
from roost.rig.services.rabbitmq import Rights

# Nobody listens to the last one: by asking there, the way for answers is opened.
FROM_CELLS: Final = ("scheduler", "nobody")
FROM_API: Final = ("compute", "nobody")


def on_buses(plan: Plan) -> list[Rights]:
    """Return the rights of all users on all buses of a rig."""
    own = [Rights(plan.bus_user(level), plan.bus_name(level)) for level in plan.bus_levels]
    guests = [
        guest
        for cell in plan.cell_names
        for guest in (
            _guest(plan.bus_user(cell), plan.bus_name(API_LEVEL), FROM_CELLS),
            _guest(plan.bus_user(API_LEVEL), plan.bus_name(cell), FROM_API),
        )
    ]
    return own + guests


def _guest(user: str, bus: str, topics: Sequence[str]) -> Rights:
    """A client declares the exchange it publishes to; its queues of answers have exchanges, too.

    The default exchange is not among them: it leads to every queue.
    """
    exchange, answers = re.escape(bus), f"reply_{re.escape(user)}_.*"
    return Rights(
        user,
        bus,
        configure=f"^({exchange}|{answers})$",
        write=f"^({exchange}|{answers})$",
        read=f"^{answers}$",
        topics={bus: rf"^{exchange}\.({'|'.join(topics)})(\..*)?$"},
    )
