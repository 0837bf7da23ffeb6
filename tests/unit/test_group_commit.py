"""Orders of many threads, carried out together."""

import concurrent.futures
import threading

from roost.group_commit import GroupCommit


class Order:
    def __init__(self, number, tries=1):
        self.number = number
        self.tries = tries
        self.done = False


class Work:
    """Does orders in batches; one that needs several tries is sent back."""

    def __init__(self):
        self.batches = []
        self.busy = threading.Lock()
        self.gate = threading.Event()
        self.begun = threading.Event()

    def __call__(self, orders):
        assert self.busy.acquire(blocking=False), "two batches at once"
        self.begun.set()
        self.gate.wait(10)
        self.batches.append([order.number for order in orders])
        for order in orders:
            order.tries -= 1
            order.done = order.tries <= 0
        self.busy.release()
        return [order for order in orders if not order.done]


def together(commits, orders):
    pool = concurrent.futures.ThreadPoolExecutor(len(orders))
    return pool, [pool.submit(commits.submit, order) for order in orders]


def settle(work, pool, waiting):
    work.gate.set()
    for each in waiting:
        each.result(10)
    pool.shutdown()


def wait_for(condition):
    for _ in range(1000):
        if condition():
            return
        threading.Event().wait(0.01)
    raise AssertionError("it did not come")


def test_what_comes_while_a_batch_is_done_makes_the_next_one():
    work = Work()
    commits = GroupCommit(work, most=100)
    first, one = together(commits, [Order(0)])
    work.begun.wait(10)
    others, rest = together(commits, [Order(number) for number in range(1, 9)])
    wait_for(lambda: len(commits._queue) == 8)
    settle(work, others, [*one, *rest])
    first.shutdown()
    assert [sorted(batch) for batch in work.batches] == [[0], list(range(1, 9))]


def test_a_batch_is_no_larger_than_allowed():
    work = Work()
    commits = GroupCommit(work, most=3)
    first, one = together(commits, [Order(0)])
    work.begun.wait(10)
    others, rest = together(commits, [Order(number) for number in range(1, 9)])
    wait_for(lambda: len(commits._queue) == 8)
    settle(work, others, [*one, *rest])
    first.shutdown()
    assert [len(batch) for batch in work.batches] == [1, 3, 3, 2]


def test_who_must_try_again_goes_first_and_nobody_is_forgotten():
    work = Work()
    work.gate.set()
    commits = GroupCommit(work, most=4)
    orders = [Order(number, tries=number % 3 + 1) for number in range(40)]
    pool, waiting = together(commits, orders)
    settle(work, pool, waiting)
    assert all(order.done for order in orders)
    assert sum(map(len, work.batches)) == sum(number % 3 + 1 for number in range(40))


def test_an_accident_of_one_leaves_nobody_waiting():
    work = Work()
    told = []

    def carry_out(orders):
        again = work(orders)
        if orders[0].number == 0 and not told:
            told.append("once")
            raise TypeError("rubbish")
        return again

    commits = GroupCommit(carry_out)
    pool, (first,) = together(commits, [Order(0, tries=2)])
    work.begun.wait(10)
    others, waiting = together(commits, [Order(1), Order(2)])
    work.gate.set()
    assert isinstance(first.exception(10), TypeError)
    settle(work, others, waiting)
    pool.shutdown()
    commits.submit(Order(3))
