"""Who may do what on the buses of a rig, at the least: what doc/security.rst tells operators.

Daemons of a level do all on their own bus, where they serve; hosts only what it takes to serve
under their own names. On the buses of others they are guests: they publish to the topics named
here, and have queues of answers of their own.
"""

import re
from collections.abc import Sequence
from typing import Final

from roost.rig.plan import API_LEVEL, Plan
from roost.rig.services.rabbitmq import Rights

# Nobody listens to the last one: by asking there, the way for answers is opened.
FROM_CELLS: Final = ("cell-scheduler", "nobody")
FROM_HOSTS: Final = ("cell-scheduler",)
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
    hosts = [
        right
        for cell in plan.cell_names
        for host in plan.hosts_of(cell)
        for right in (
            _host(plan.bus_user(host), plan.bus_name(cell), host),
            _guest(plan.bus_user(host), plan.bus_name(API_LEVEL), FROM_HOSTS),
        )
    ]
    return own + guests + hosts


def _host(user: str, bus: str, host: str) -> Rights:
    """A host serves under its own name, asks the cell-conductors, and hears nothing else.

    Only who serves uses the default exchange, to answer. It leads to every queue of the cell, where
    receivers look who it is.
    """
    exchange, name = re.escape(bus), re.escape(host)
    queues = rf"{exchange}\.compute(\.{name}|_fanout.*)?"
    own = rf"{exchange}|{queues}|reply_{re.escape(user)}_.*"
    return Rights(
        user,
        bus,
        configure=f"^({own})$",
        write=rf"^({own}|amq\.default)$",
        read=f"^({own})$",
        topics={bus: rf"^{exchange}\.(cell-conductor|nobody|compute\.{name})$"},
        bindings={bus: rf"^{exchange}\.compute(\.{name})?$"},
    )


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
