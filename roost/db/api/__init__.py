"""The API-level database: build requests, mappings, quota, cells, flavors, key pairs, groups.

``models.py`` has the tables; ``build_requests.py`` has the build requests that the API persists and
super-conductors lease, ``instance_mappings.py`` the cell of each instance, ``quota.py`` limits and
usage of projects, changed by conditional updates.
"""
