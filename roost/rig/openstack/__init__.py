"""The OpenStack services that a rig may have beside Roost: Keystone, Glance, Neutron.

``plan`` says which, where, and with whose passwords; ``packages`` installs them from the package
index; ``services`` writes their configuration and says how to start them; ``identity`` administers
Keystone; ``contents`` fills what was started; ``deployment`` does all that for one rig.
``serve.py``, ``tables.py`` and ``mechanism.py`` are run by the Python of their environment, and
import nothing of Roost.
"""
