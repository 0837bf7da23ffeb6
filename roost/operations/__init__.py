"""Operations: what is done to one server, each from its acceptance to its end.

``kinds.py`` has a row for each kind of operation on an existing server, made of ``steps.py``.
Derived from it are what follows in an operation (``advance.py``), the transitions between states
(``transitions.py``), what a host begins and renews (``compute/operations``), what the sweeper does
without the host (``conductor/cell``), what clients see and the diagram of the documentation.
"""
