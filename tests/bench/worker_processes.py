"""Processes of a bench that get ready, begin together, and end when all was measured."""

import contextlib
import multiprocessing

_PATIENCE = 600  # seconds


class Crew:
    """Runs ``work(pipe, *args)`` in processes of their own, once for each of ``jobs``.

    The work is to call :func:`begin` when it is ready and :func:`finish` with what it found.
    """

    def __init__(self, work, jobs):
        context = multiprocessing.get_context("spawn")
        self._pipes, self.processes = [], []
        for job in jobs:
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, *job), daemon=True)
            process.start()
            theirs.close()
            self._pipes.append(ours)
            self.processes.append(process)

    def wait(self):
        """Return what each one tells next, or raise EOFError if one died."""
        answers = []
        for pipe in self._pipes:
            if not pipe.poll(_PATIENCE):
                raise TimeoutError("a process of the bench is stuck")
            answers.append(pipe.recv())
        return answers

    def go_on(self):
        for pipe in self._pipes:
            pipe.send(None)

    def end(self):
        for process in self.processes:
            process.join(timeout=30)
            process.terminate()


@contextlib.contextmanager
def crew(work, jobs):
    """A crew that is ready to begin."""
    made = Crew(work, jobs)
    try:
        made.wait()
        yield made
    finally:
        made.end()


def alone(work, *args):
    """Run ``work`` in a process of its own; return what it found."""
    with crew(work, [args]) as one:
        one.go_on()
        (found,) = one.wait()
        one.go_on()
    return found


def begin(pipe):
    """Wait until all are ready."""
    pipe.send("ready")
    pipe.recv()


def finish(pipe, found):
    """Tell what was found; return when it was noted."""
    pipe.send(found)
    pipe.recv()
