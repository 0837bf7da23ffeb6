"""The history of the API-level database."""
