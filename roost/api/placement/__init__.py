"""The part of OpenStack Placement's API that reads, below ``/placement``: doc/placement_api.rst.

Resource providers are the nodes that the schedulers know, allocations are their claims, and both
come from the schedulers by RPC; aggregates are Compute's. Nothing is changed here: every request
that writes is answered with 405, see ``errors.py``.

- ``microversions.py``: 1.0 to 1.39, negotiation and headers; ``errors.py``: the form of errors
- ``rows.py``: rows of the table of routes, whose ``since`` are minor versions of Placement
- ``providers.py`` and ``allocations.py``: handlers of providers, and of what consumers have
- ``names.py``: traits and resource classes
- ``candidates.py``: allocation candidates; ``requirements.py``: filters of providers

May import the modules at the top of ``roost.api`` and what these may.
"""
