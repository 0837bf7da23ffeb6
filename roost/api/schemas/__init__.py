"""JSON Schemas of bodies and queries, noun by noun; what they share is in ``base.py``."""
