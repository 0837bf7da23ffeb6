"""The API-level database: build requests, mappings, quota, cells, flavors, key pairs, groups.

``models.py`` has the tables; ``build_requests.py`` is what the api persists and super-conductors
lease, ``instance_mappings.py`` where each instance is, ``quota.py`` what projects may have, taken
by conditional updates.
"""
