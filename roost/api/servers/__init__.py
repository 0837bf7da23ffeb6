"""Servers and the actions on them.

Start at ``servers.py``: its handlers list, show, create, update and delete. ``create.py`` accepts a
boot, with ``scheduler_hints.py``, ``block_devices.py``, ``guest_config.py`` and
``roost.api.networking``; ``lists.py`` pages over build requests and cells; ``delete.py`` deletes,
soft-deletes and restores.

``actions.py`` joins the tables of actions (``/servers/{id}/action``), whose rows are described by
``server_action.py``. Most actions pass ``locks.py``, then ``tasks.py`` writes the task into the
server's row by compare and swap and casts to the host; ``rebuild.py``, ``images.py`` and
``consoles.py`` are the larger actions. ``host_calls.py`` calls hosts and waits for the response.

``policies.py``, ``schemas.py`` and ``views.py`` are shared by all of these; each other module
(``tags.py``, ``metadata.py``, ``interfaces.py``, ``password.py`` and so on) is one resource. May
import the modules at the top of ``roost.api``, ``compute``, ``networking/driver.py``, and what
these may import; of ``legacy`` only actions and views; not ``roost.standalone``.
"""
