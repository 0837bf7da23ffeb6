"""Resources of Compute other than servers: flavors, key pairs, aggregates, quotas and so on.

The way in is the module of a resource, at its end: ``ROUTES`` names the handlers, which
``dispatch.py`` calls. Such a module has, in this order, policies, schemas, views, the class of
handlers, ``ROUTES``. Handlers read and write the databases themselves, several cells by
``gather.py``; they ask schedulers by their client.

``services.py``, ``hypervisors.py`` and ``availability_zones.py`` join what cells and schedulers
know of hosts; ``service_views.py`` has what they show alike. ``quota_resources.py`` says what is
limited, ``quotas.py`` and ``limits.py`` show it. ``versions.py`` has the version documents.

May import the modules at the top of ``roost.api`` and what these may; not ``roost.api.legacy``, not
``roost.standalone``. Of ``servers``, ``services.py`` alone takes one view.
"""
