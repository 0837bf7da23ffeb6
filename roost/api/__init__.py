"""The REST API: OpenStack Compute v2.1, and the little of Image and Network that clients ask for.

The way in is ``routes.py``: one table from method and path to handler, policy and schemas. What
surrounds a handler is in ``app.py``, from the outside in.
"""
