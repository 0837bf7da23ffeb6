"""Operations on the servers of a cell, from the first report of a host to the end.

``outcomes.py`` gives hosts their leases, takes their reports, and carries out what follows
(``roost/operations/advance.py``); ``builds.py`` has what only builds do: they look for a host until
one has the server; ``moves.py`` has what only moves do: they go from host to host; both with
``claims.py``; ``delete.py`` ends a delete; ``confirmations.py`` confirms the moves that their users
have forgotten.
"""
