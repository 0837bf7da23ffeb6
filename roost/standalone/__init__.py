"""The stand-ins of Glance and Neutron, for deployments that have neither. Not for strangers."""
