"""The multi-cell test rig: all daemons of a small cloud on one machine, started, shown and broken.

``plan`` says what a rig consists of; ``embedded`` runs it in one process, ``processes`` as real
daemons; ``cli`` is the command ``roost-rig``.
"""
