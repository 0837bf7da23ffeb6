"""What users may connect their servers to: the API's side of the network drivers.

``driver.py`` is the seam, found by the entry points ``roost.api.networking``; ``neutron.py``
speaks to Neutron as the user who asks, with ``neutron_ports``, ``neutron_groups`` and
``neutron_proxies`` beside it. The other driver, for deployments without Neutron, is
``roost/standalone/networking.py``.
"""
