"""How much memory the daemons of a rig take."""

import psutil

from roost.rig.processes import Supervisor


def by_daemon(plan):
    """Return the MB of each daemon's processes, by its name; what several share is split (PSS)."""
    found = {}
    for daemon in Supervisor(plan.rig, plan.state).list_processes():
        parent = psutil.Process(daemon.pid)
        processes = [parent, *parent.children(recursive=True)]
        found[daemon.name] = sum(one.memory_full_info().pss for one in processes) / 1e6
    return found
