"""The multi-cell test rig: all daemons of a small cloud on one machine, started, shown and broken.

``cli.py`` is the command ``roost-rig``. ``plan.py`` says what a rig consists of, and everything
else reads it: ``lifecycle.py`` starts and ends a rig, on brokers and databases of ``services/``
(``backing.py``), with what ``install.py`` lays, as processes (``processes.py``) or all in one
(``embedded.py``). ``client.py`` speaks to its API; ``boots.py`` and ``demo.py`` boot servers;
``health.py``, ``logs.py`` and ``timeline.py`` show what goes on. ``hypervisors/`` has real guests,
``openstack/`` Keystone, Glance and Neutron beside Roost, ``chaos/`` breaks a rig on purpose.

The topmost room: may import all others, but databases of schedulers; only tests import it.
"""
