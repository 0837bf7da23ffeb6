"""Image stores, for the API and the hosts.

``driver.py`` is the interface (entry points ``roost.image``); ``glance.py`` with
``glance_client.py`` is Glance, ``local.py`` a shared folder; ``signatures.py`` verifies images.

May import ``db`` and ``external`` and below.
"""
