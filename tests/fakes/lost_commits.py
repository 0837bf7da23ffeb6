"""Databases whose answers to commits get lost."""

import collections
import contextlib

from roost import exception


@contextlib.contextmanager
def lost_answers(*databases, committed):
    """Let the answer to every other commit of these databases be lost, beginning with the first.

    So each step that is run again finds what its first try has left.

    :param committed: whether what was to be committed is, all the same
    :yields: how many answers were lost, by database
    """
    lost = collections.Counter()
    with contextlib.ExitStack() as undo:
        for database in databases:
            database.begin = _losing(database, database.begin, lost, committed=committed)
            undo.callback(delattr, database, "begin")
        yield lost


def _losing(database, begin, lost, *, committed):
    commits = 0

    @contextlib.contextmanager
    def losing():
        nonlocal commits
        with contextlib.suppress(_NotCommitted), begin() as session:
            yield session
            commits += 1
            if commits % 2 and not committed:
                raise _NotCommitted
        if commits % 2:
            lost[database] += 1
            raise exception.Lost("the answer to a commit was lost")

    return losing


class _NotCommitted(Exception):
    pass
