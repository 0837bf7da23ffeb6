"""Tempest, by which others test clouds: run against a Roost that is made for it.

``python -m tests.tempest`` (``make tempest``) runs all that is meant to pass here.
"""
