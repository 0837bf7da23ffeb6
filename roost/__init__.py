"""Roost: a compute control plane that asks cells of hosts to run servers."""
