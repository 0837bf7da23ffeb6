"""Minimal image and network APIs, for trusted deployments without Glance and Neutron.

``images.py`` is the part of the image API that clients of Compute need; ``networks.py``,
``ports.py`` and ``security_groups.py`` that of the network API, with their routes in
``network_routes.py`` and policies and schemas in ``network_schemas.py`` and ``image_schemas.py``.
``networking.py`` is the driver that connects servers to these networks. ``tables.py`` adds their
routes and policies to Compute's: roost-api serves these.

Stands above ``api``, and may import all that it may. Only ``cmd`` and the rig import it; all else
uses the interfaces ``roost.image.driver`` and ``roost.api.networking.driver``.
"""
