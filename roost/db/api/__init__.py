"""The API-level database: wishes, mappings, quota, cells, flavors."""
