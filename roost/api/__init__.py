"""The REST API: OpenStack Compute v2.1.

A request passes ``middleware.py``, the dispatcher of its path (``dispatch.py``: microversion,
policy, query, body) and a handler. Every route is in ``routes.py``, every policy in
``policies.py``; a noun's policies, schemas, views, handlers and routes are one module of
``compute/``, ``servers/``, ``networking/`` or ``legacy/``. ``app.py`` puts it together from
``dependencies.py``, ``faults.py`` is the only place that knows errors as HTTP, ``admission.py``
says who waits and who is refused, ``locator.py`` finds servers in their cells, ``gather.py`` asks
many cells at once.

May import ``cells``, ``image``, ``rpc``, ``db`` and below, and of the scheduler its client alone;
options come by ``dependencies.ApiOptions``. The stand-ins of Glance and Neutron are above it.
"""
