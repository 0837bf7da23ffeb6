"""Run many seeds, and say which failed: ``python -m tests.simulation --seeds 10000 --jobs 2``."""

import argparse
import collections
import json
import logging
import multiprocessing
import os
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

_HASHES = "PYTHONHASHSEED"  # what sets are ordered by; a world must not differ by that


def main(arguments: Sequence[str]) -> int:
    asked = _read(arguments)
    if os.environ.get(_HASHES) != "0":
        environment = {**os.environ, _HASHES: "0"}
        os.execve(
            sys.executable, [sys.executable, "-m", "tests.simulation", *arguments], environment
        )
    if asked.seed is not None:
        return _one(asked.seed, verbose=asked.verbose)
    return _many(asked)


def _read(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--jobs", type=int, default=1, help="how many at once")
    parser.add_argument("--seed", type=int, help="only this one")
    parser.add_argument("--verbose", action="store_true", help="with --seed: tell all that happens")
    return parser.parse_args(arguments)


def _one(seed: int, *, verbose: bool) -> int:
    from tests.simulation.random_workload import play, play_quietly

    if verbose:
        logging.basicConfig(stream=sys.stdout, level=logging.INFO, format="           %(message)s")
    outcome = play(seed, tell=print) if verbose else play_quietly(seed)
    for line in outcome.wrong:
        print(f"WRONG: {line}")
    print(json.dumps({**outcome.totals, "digest": outcome.digest}, indent=1))
    return 1 if outcome.wrong else 0


def _outcomes(asked: argparse.Namespace) -> Iterator[Any]:
    from tests.simulation.random_workload import play_quietly

    seeds = range(asked.first, asked.first + asked.seeds)
    if asked.jobs == 1:
        yield from map(play_quietly, seeds)
        return
    # A worker is replaced after so many chunks: what worlds leave behind slows it down.
    pool = multiprocessing.get_context("spawn").Pool(asked.jobs, maxtasksperchild=10)
    yield from pool.imap_unordered(play_quietly, seeds, chunksize=10)
    pool.close()
    pool.join()  # so that each worker clears up


def _many(asked: argparse.Namespace) -> int:
    began, failed, recovery = time.monotonic(), [], []
    totals: collections.Counter[str] = collections.Counter()
    for outcome in _outcomes(asked):
        totals.update(outcome.totals)
        recovery.append(outcome.seconds)
        if outcome.wrong:
            failed.append(outcome.seed)
            print(f"seed {outcome.seed} failed:", *outcome.wrong, sep="\n    ", flush=True)
            print(f"    repeat: python -m tests.simulation --seed {outcome.seed} --verbose")
    recovery.sort()
    print(json.dumps(dict(sorted(totals.items())), indent=1))
    took = time.monotonic() - began
    middle, late = recovery[len(recovery) // 2], recovery[int(len(recovery) * 0.99)]
    print(f"seconds of calm until order: half {middle:g}, 99 of 100 {late:g}, all {recovery[-1]:g}")
    print(f"{asked.seeds} seeds in {took:.0f} s; failed: {failed or 'none'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
