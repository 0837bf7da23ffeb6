"""What Compute had until 2.35 to 2.43, for old clients and Tempest. Nothing is added here.

Proxies of images, networks, floating addresses and security groups; ``/os-hosts``,
``/extensions``. ``removed.py`` answers the paths that Nova itself no longer serves. All of it
reads through the same seams as the rest: ``roost.image.driver`` and
``roost.api.networking.driver``.
"""
