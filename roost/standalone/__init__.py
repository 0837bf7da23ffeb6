"""The stand-ins of Glance and Neutron, for deployments that have neither. Not for strangers.

``images.py`` is as much of the image API as clients of Compute need; ``networks.py``, ``ports.py``
and ``security_groups.py`` as much of the network API, with their routes in ``network_routes.py``
and policies and schemas in ``network_schemas.py`` and ``image_schemas.py``. ``networking.py`` is
the driver by which servers are connected to these networks. ``tables.py`` adds their routes and
policies to Compute's: roost-api serves these.

Stands above ``api``, and may import all that it may. Only ``cmd`` and the rig import it; all else
knows the seams ``roost.image.driver`` and ``roost.api.networking.driver``.
"""
