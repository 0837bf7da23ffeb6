"""Clients of external services, with the user's credentials or Roost's own.

``session.py`` makes keystoneauth sessions, with time-outs and a circuit breaker for each service;
``neutron.py`` is the Neutron client, ``neutron_ports.py`` its ports for conductors and hosts,
``vendor_data.py`` the vendor data services. Glance is an image store: ``roost/image``.

May import ``objects`` and below.
"""
