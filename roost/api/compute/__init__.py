"""Nouns of Compute other than servers: a module each, with its rules, schemas, views and routes."""
