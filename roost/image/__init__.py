"""Image stores, as the API and the hosts read them.

``driver.py`` is the seam (entry points ``roost.image``); ``glance.py`` with ``glance_client.py``
is Glance, ``local.py`` a folder that all share; ``signatures.py`` verifies images.

May import ``db`` and ``external`` and below.
"""
