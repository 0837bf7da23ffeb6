"""What holds for every filter and weigher, whoever wrote it: the engine relies on it."""

import contextlib
import functools
import itertools
import socket
import sys
import threading
from importlib import metadata

import numpy as np
import pytest
import sqlalchemy as sa

from roost.scheduler.filters import ASK_AGAIN, Filter, HostFilter
from tests.builders import taken
from tests.unit.scheduler import random_requests
from tests.unit.scheduler.host_builders import filters_of, weighers_of

FILTER_NAMES = sorted(metadata.entry_points(group="roost.scheduler.filters").names)
WEIGHER_NAMES = sorted(metadata.entry_points(group="roost.scheduler.weighers").names)
ALL_FILTERS = filters_of(*FILTER_NAMES, **random_requests.OPTIONS)
FILTERS = [each for each in ALL_FILTERS if isinstance(each, Filter)]
HOST_FILTERS = [each for each in ALL_FILTERS if isinstance(each, HostFilter)]
WEIGHERS = [each.weigher for each in weighers_of(*WEIGHER_NAMES, **random_requests.OPTIONS)]
VECTORS = [*FILTERS, *WEIGHERS]
OPENING = {"open", "os", "shutil", "socket", "sqlite3", "subprocess", "urllib"}
_watched = set()


@functools.cache
def all_questions():
    """Hosts and requests, with a seed for more."""
    found = []
    for number in range(30):
        hosts = random_requests.some_hosts(number)
        seeds = range(number * 8, number * 8 + 8)
        found += [(hosts, random_requests.some_request(seed, hosts), seed) for seed in seeds]
    return found


def asked(each):
    """All questions that a plug-in has something to say to."""
    return [question for question in all_questions() if each.applies_to(question[1])]


def answer(each, request, hosts):
    """The answer of a filter or weigher per host."""
    if isinstance(each, Filter):
        masks = [refused for _, refused in each.refuse(request, hosts)]
        return np.any([np.zeros(len(hosts), dtype=bool), *masks], axis=0)
    return each.weigh(request, hosts)


def name_of(each):
    return f"{each.name}-{'weigher' if each in WEIGHERS else 'filter'}"


def of_each(*plug_ins):
    return pytest.mark.parametrize("each", plug_ins, ids=name_of)


def watch(event, arguments):
    if threading.get_ident() in _watched and event.split(".")[0] in OPENING:
        raise AssertionError(f"it does {event} {arguments}")


def watch_statements(_connection, _cursor, statement, *_):
    """Of connections that were open before."""
    watch("sqlite3.execute", statement)


sys.addaudithook(watch)


@contextlib.contextmanager
def nothing_is_opened():
    _watched.add(threading.get_ident())
    sa.event.listen(sa.Engine, "before_cursor_execute", watch_statements)
    try:
        yield
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", watch_statements)
        _watched.discard(threading.get_ident())


@pytest.mark.parametrize("point", ["filters", "weighers"])
def test_every_plug_in_goes_by_the_name_of_its_entry_point(point):
    for entry in metadata.entry_points(group=f"roost.scheduler.{point}"):
        assert entry.load().name == entry.name


@of_each(*VECTORS)
def test_no_plug_in_opens_anything(each):
    every = all_questions()
    with nothing_is_opened():
        for hosts, request, _ in every:
            if each.applies_to(request):
                each.key(request)
                answer(each, request, hosts)
                if isinstance(each, Filter):
                    each.closest(request, hosts)


@of_each(*HOST_FILTERS)
def test_no_filter_opens_anything_to_judge_one_host(each):
    every = all_questions()
    with nothing_is_opened():
        for hosts, request, _ in every:
            if each.applies_to(request):
                for row in range(len(hosts)):
                    each.why_not(request, hosts.one(row))


def test_a_plug_in_that_opens_something_would_be_caught(tmp_path):
    with pytest.raises(AssertionError, match="it does open"), nothing_is_opened():
        (tmp_path / "x").open("w")
    with pytest.raises(AssertionError, match="it does socket"), nothing_is_opened():
        socket.create_connection(("127.0.0.1", 1))


@of_each(*FILTERS)
def test_every_filter_refuses_somebody_and_lets_somebody_pass(each):
    """Or else the tests of this module would say little of it."""
    answers = [answer(each, request, hosts) for hosts, request, _ in asked(each)]
    assert any(refused.any() and not refused.all() for refused in answers)


@of_each(*HOST_FILTERS)
def test_every_filter_of_single_hosts_refuses_somebody_and_lets_somebody_pass(each):
    found = {
        each.why_not(request, hosts.one(row)) is None
        for hosts, request, _ in asked(each)
        for row in range(len(hosts))
    }
    assert found == {True, False}


@of_each(*WEIGHERS)
def test_every_weigher_makes_a_difference_to_somebody(each):
    assert any(np.ptp(answer(each, request, hosts)) for hosts, request, _ in asked(each))


@of_each(*VECTORS)
def test_the_answer_for_some_hosts_is_that_for_all(each):
    for hosts, request, seed in asked(each):
        chance = random_requests.Chance(seed)
        rows = np.array(chance.choices(range(len(hosts)), k=chance.randrange(4)), dtype=np.intp)
        found = answer(each, request, hosts.some(rows))
        assert np.array_equal(found, answer(each, request, hosts)[rows])


@of_each(*VECTORS)
def test_requests_with_equal_keys_get_equal_answers(each):
    for _, same_hosts in itertools.groupby(asked(each), key=lambda found: id(found[0])):
        answers = {}
        for hosts, request, _ in same_hosts:
            key = each.key(request)
            if key is not ASK_AGAIN:
                found = answer(each, request, hosts)
                assert np.array_equal(found, answers.setdefault(key, found))


@of_each(*(each for each in VECTORS if not each.by_usage))
def test_usage_makes_no_difference_to_who_does_not_say_so(each):
    for hosts, request, seed in asked(each):
        before = answer(each, request, hosts)
        chance = random_requests.Chance(seed)
        row, amounts = chance.randrange(len(hosts)), taken(**chance.sizes())
        hosts.take(row, amounts)
        after = answer(each, request, hosts)
        hosts.take(row, amounts, sign=-1)
        assert np.array_equal(after, before)


def differs(each, read):
    """Whether an answer differs when hosts report only these parts."""

    def answers(hosts, request):
        if isinstance(each, HostFilter):
            return [each.why_not(request, hosts.one(row)) for row in range(len(hosts))]
        return answer(each, request, hosts).tolist()

    return any(
        answers(random_requests.some_hosts(seed // 8, read), request) != answers(hosts, request)
        for hosts, request, seed in asked(each)
    )


@of_each(*ALL_FILTERS, *WEIGHERS)
def test_what_hosts_leave_out_makes_no_difference_to_who_does_not_read_it(each):
    assert not differs(each, read=each.reads)
    assert differs(each, read=()) == bool(each.reads)


@of_each(*WEIGHERS)
def test_weights_are_between_minus_one_and_one(each):
    for every, request, _ in asked(each):
        hosts = every.some(np.arange(len(every)))
        hosts.used = np.minimum(hosts.used, hosts.capacity)
        weights = each.weigh(request, hosts)
        assert weights.shape == (len(hosts),)
        assert np.all((weights >= -1) & (weights <= 1))


@of_each(*FILTERS)
def test_whoever_came_closest_is_one_of_them_and_is_told_what_it_lacks(each):
    for hosts, request, _ in asked(each):
        rows = np.flatnonzero(answer(each, request, hosts))
        miss = each.closest(request, hosts.some(rows)) if len(rows) else None
        if miss is not None:
            assert 0 <= miss.row < len(rows)
            assert miss.lacks
