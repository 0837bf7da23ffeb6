"""Tells guests of themselves over HTTP: roost-metadata is made of this."""
