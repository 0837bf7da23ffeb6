"""Images and networks for clients where there is no Glance and no Neutron. Not for strangers."""
