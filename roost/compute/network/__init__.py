"""The network drivers of a host, which give guests their interfaces.

``driver.py`` is the plug-in interface (entry points ``roost.compute.network``): a core that every
driver has, and small protocols for optional features. ``local.py`` assigns addresses and plugs
nothing, ``bridge/`` creates Linux bridges, ``neutron.py`` binds ports of Neutron, ``vifs.py`` plugs
them, on Open vSwitch by os-vif. ``bindings.py`` reads the bindings of Neutron's ports.
"""
