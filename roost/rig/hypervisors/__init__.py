"""Real guests for a rig: hosts as separate as those of a cloud, and a Linux to boot on them.

``network`` says what they are called and where they are reached; ``machine`` makes one of them, by
namespaces, and ends it; ``hosts`` does so for a rig; ``enter`` and ``gate`` are processes of it.
"""
