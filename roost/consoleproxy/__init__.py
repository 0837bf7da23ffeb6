"""roost-consoleproxy: leads browsers to consoles of servers.

``proxy.py`` serves pages and WebSockets, ``tokens.py`` learns from the API's database where a
token leads, ``sessions.py`` joins a browser and the host's console until one of them ends.

May import ``db``, ``objects`` and below.
"""
