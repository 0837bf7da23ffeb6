"""Services outside Roost, and how it speaks to them: as the user who asks, or as itself.

``session.py`` makes sessions by keystoneauth, with time-outs and a circuit breaker for each
service; ``neutron.py`` is Neutron for the API, ``neutron_ports.py`` its ports for conductors and
hosts, ``vendor_data.py`` the services that add to metadata. Glance is an image store:
``roost/image``.

May import ``objects`` and below.
"""
