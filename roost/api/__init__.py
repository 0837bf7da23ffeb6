"""The REST API: OpenStack Compute (Nova) v2.1, as ``roost-api`` serves it.

Start at ``routes.py``, the table of all routes: each row names its handler. A request passes
``admission.py``, ``middleware.py``, ``dispatch.py`` (microversion, policy, query, body) and the
handler; ``faults.py`` converts the exceptions of all of them to HTTP errors.

Resources are in ``compute/``, ``servers/`` and ``legacy/``: a module has a resource's schemas,
views, handlers and routes; the row of a route has its rule. ``placement/`` has those of Placement.
``networking/`` has the API's side of the network drivers.

- ``app.py``: the WSGI application; ``dependencies.py``: dependencies and options of handlers
- ``route.py``: a row of the table; ``request.py``: requests and answers of handlers
- ``policy.py``: a rule, the roles, and the check by oslo.policy
- ``validation.py``: JSON Schema of bodies and queries; ``pagination.py``: pages, links, times
- ``microversions.py``: negotiation
- ``keystone_auth.py``: authentication by tokens
- ``locator.py``: finds a server's cell; ``gather.py``: asks many cells at once
- ``service_catalog.py``: where Glance and Neutron are; ``images.py``: which images callers see
- ``openapi.py`` with ``answers.py``: the OpenAPI document

May import ``cells``, ``image``, ``servicegroup``, ``guestdata``, ``rpc``, ``db``, ``external`` and
what is below them, and of the scheduler ``roost.scheduler.client`` alone. Not ``roost.conf`` (see
``dependencies.ApiOptions``), not sqlalchemy, not ``roost.standalone``, which stands above.
"""
