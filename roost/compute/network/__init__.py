"""Where a guest gets its interfaces from, on the host.

``driver.py`` is the seam (entry points ``roost.compute.network``): a core that every driver has,
and small protocols for what only some can. ``local.py`` gives addresses without connecting
anything, ``bridge/`` makes Linux bridges, ``neutron.py`` binds ports of Neutron, ``vifs.py`` plugs
them, on Open vSwitch by os-vif. ``bindings.py`` reads what Neutron has bound a port to.
"""
