"""Serves a Neutron on loopback: ``python -P neutron_server.py PORT``, with its own packages."""

import sys

from cheroot import wsgi

if __name__ == "__main__":
    port, sys.argv[1:] = int(sys.argv[1]), []
    from neutron.wsgi.api import application

    # one thread: its SQLite takes one writer at a time, and Neutron answers the others with 500
    wsgi.Server(("127.0.0.1", port), application, numthreads=1).start()
