"""The API's side of network drivers: validates the requested networks. It connects nothing.

Start at ``driver.py``, the interface that drivers implement, found by the entry points
``roost.api.networking``. Handlers have the driver as ``Dependencies.networking``: creates call
``requests``, an attach of an interface ``attachment``; ``groups`` has the security groups, and
``proxies`` the data of the legacy resources, as values of ``proxied.py``.

``neutron.py`` is the driver of Neutron, which it calls with the user's token; its parts are
``neutron_ports.py``, ``neutron_groups.py`` and ``neutron_proxies.py``. The driver of deployments
without Neutron is ``roost/standalone/networking.py``.

May import ``roost.external`` and what ``roost.api`` may; no handlers, and not ``roost.standalone``.
"""
