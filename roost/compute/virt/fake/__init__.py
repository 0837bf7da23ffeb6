"""A hypervisor that only pretends: for the embedded rig, tests and chaos runs."""
