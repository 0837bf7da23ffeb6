"""roost-consoleproxy: connects browsers to consoles of servers.

``proxy.py`` serves pages and WebSockets, ``tokens.py`` looks up tokens in the API database,
``sessions.py`` relays between a browser and the host's console until one of them closes.

May import ``db``, ``objects`` and below.
"""
