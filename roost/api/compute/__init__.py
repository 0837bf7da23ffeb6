"""Nouns of Compute other than servers: flavors, key pairs, aggregates, services, quotas and so on.

A module per noun, in this order: policies, schemas, views, the class of handlers, ``ROUTES``.
``services.py`` and ``hypervisors.py`` join what cells and schedulers know of hosts;
``quota_resources.py`` says what is limited, ``quotas.py`` and ``limits.py`` show it.

May import the machinery at the top of ``api``, not ``servers`` or ``legacy``.
"""
