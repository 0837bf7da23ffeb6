"""Resources of Compute other than servers: flavors, key pairs, aggregates, quotas and so on.

Start at the end of the module of a resource: ``ROUTES`` names the handlers, which ``dispatch.py``
calls. Such a module has, in this order, policies, schemas, views, the class of handlers,
``ROUTES``. Handlers read and write the databases themselves, several cells by ``gather.py``; they
call schedulers by their client.

``services.py``, ``hypervisors.py`` and ``availability_zones.py`` join the data of cells and
schedulers about hosts; ``service_views.py`` has their common views. ``quota_resources.py`` lists
the limited resources, ``quotas.py`` and ``limits.py`` show them. ``versions.py`` has the version
documents.

May import the modules at the top of ``roost.api`` and what these may; not ``roost.api.legacy``, not
``roost.standalone``. Only ``services.py`` imports from ``servers``: one view.
"""
