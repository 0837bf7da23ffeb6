"""Clients of others, let loose on a rig with a real Keystone, Glance and Neutron.

``gophercloud``, ``ansible`` and ``libcloud`` each tell a server's life in the words of that client.
``functional`` runs the tests that openstacksdk and the openstack command bring.
"""
