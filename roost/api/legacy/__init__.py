"""Legacy resources of Compute, most of them until 2.35 to 2.43, for old clients and Tempest.

Nothing is added here. Start at ``routes.py`` of ``roost.api``, as for other resources; most
routes here end with a microversion (``until``). ``images.py``, ``networks.py`` and
``security_groups.py`` are the proxies of Glance and Neutron, ``floating_ips.py`` has the actions on
servers' addresses; ``hosts.py``, ``extensions.py`` and ``usage_audit_log.py`` are the other
resources. ``removed.py`` has no routes: it answers 410 to requests that Nova no longer serves.

Proxies use the same drivers as other resources: ``roost.image.driver`` and
``roost.api.networking.driver``. May import the modules at the top of ``roost.api``, ``compute`` and
``servers``, and what these may; not ``roost.standalone``.
"""
