"""Real guests for a rig: a libvirtd of its own, and a Linux that is small enough to boot often."""
