"""Whatever a query has, it is answered, and costs little: every parameter of every route is tried.

The parameters are those of the schemas, so one that is new is tried, too.
"""

import itertools

import pytest

from roost.api import microversions
from roost.api.dependencies import ApiOptions
from roost.api.validation import MOST_VALUES, always
from roost.exception import Invalid
from roost.standalone.tables import ROUTES
from tests import api_harness
from tests.api_harness import ADMIN, ALICE, count_statements

EXTREMES = [
    "",
    "-1",
    "999999999",
    "9" * 400,
    "0001-01-01T00:00:00",
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59",
    "9999-12-31T23:59:59.999999",
    "9999-12-31T23:59:59.999999-14:00",
    "x" * 255,
    "x" * 70000,
    "😀",
    "\0",
    "%",
    "'\";--",
    ",".join("abcdefghij" * 12),
    "true",
    "asc",
    "created_at",
    "ACTIVE",
    "::1",
    "fe80::1%eth0",
    "00000000-0000-0000-0000-000000000000",
]


def documents():
    """List what queries may have: each document, and a microversion that meets it."""
    for route in ROUTES:
        since = sorted(route.query.documents)
        for first, after in itertools.zip_longest(since, since[1:]):
            minor = min(route.until, (after or microversions.MAXIMUM + 1) - 1)
            if minor >= max(route.since, first):
                yield route, minor, route.query.documents[first]


def parameters():
    """List each parameter of each query: as the last microversion knows it, and where none does.

    Of several routes of a noun that have the same query, one does for all.
    """
    alike = {(route.noun, route.query): route for route in reversed(ROUTES)}
    found, every = {}, [each for each in documents() if each[0] in alike.values()]
    names = {(route, name) for route, _, document in every for name in document["properties"]}
    for route, minor, document in every:
        for name in (name for of, name in names if of == route):
            is_known = name in document["properties"]
            schema = document["properties"].get(name, document["additionalProperties"])
            if schema:
                found[route, name, is_known] = (minor, schema)
    return [(route, name, *of) for (route, name, _), of in sorted(found.items(), key=_path)]


def _path(item):
    (route, name, is_known), _ = item
    return route.path, route.method, name, is_known


PARAMETERS = parameters()
NOUNS = sorted({route.noun.__name__ for route, *_ in PARAMETERS})


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    with api_harness.made_in(tmp_path_factory.mktemp("world"), ApiOptions(max_limit=50)) as world:
        yield world


@pytest.fixture
def known(world):
    return world.things()


def ask(world, known, route, minor, params, token=ADMIN):
    return world.client.ask(
        route.method,
        route.path.format(**known),
        version=microversions.name(minor),
        params=params,
        params_csv=False,
        token=token,
    )


def fits(value, schema):
    try:
        always(schema).check([value], minor=1, what="query")
    except Invalid:
        return False
    return True


def test_every_parameter_may_be_repeated_so_often_only():
    for route, minor, document in documents():
        others = document["additionalProperties"]
        schemas = [*document["properties"].values(), *([others] if others else [])]
        for schema in schemas:
            assert schema["maxItems"] <= MOST_VALUES, (route.method, route.path, minor)


def try_extremes(world, known, wanted):
    """Send what the schemas let pass, each alone, and one value that they do not."""
    for route, name, minor, schema in PARAMETERS:
        if not wanted(route):
            continue
        refused = [value for value in EXTREMES if not fits(value, schema)]
        for value in [*refused[:1], *(value for value in EXTREMES if value not in refused)]:
            answer = ask(world, known, route, minor, {name: value})
            assert answer.status_code < 500, (route.path, name, value[:80], answer.text)


@pytest.mark.parametrize("noun", NOUNS)
def test_extreme_values_are_answered(world, known, noun):
    try_extremes(world, known, lambda route: route.noun.__name__ == noun)


@pytest.mark.parametrize("noun", NOUNS)
def test_as_many_values_as_there_may_be_are_answered(world, known, noun):
    for route, name, minor, schema in PARAMETERS:
        good = [value for value in EXTREMES if fits(value, schema)]
        if route.noun.__name__ != noun or not good:
            continue
        many = [good[at % len(good)] for at in range(MOST_VALUES)]
        answer = ask(world, known, route, minor, {name: many})
        assert answer.status_code < 500, (route.path, name, answer.text)
        answer = ask(world, known, route, minor, {name: [*many, good[0]]})
        assert answer.status_code == 400, (route.path, name, answer.text)


@pytest.mark.parametrize("version", ["2.1", "2.104"])
def test_a_filter_given_thousands_of_times_is_refused_for_nothing(world, version):
    for path in ("/v2.1/servers", "/v2.1/servers/detail"):
        with count_statements(world) as counted:
            query = "&".join(["status=ACTIVE"] * 2800)
            answer = world.client.get(path, query_string=query, version=version, token=ALICE)
        assert answer.status_code == 400
        assert "status" in answer.text
        assert counted.count == 0


def test_what_is_asked_for_many_times_is_asked_of_the_databases_once(world, known):
    def parameters(times):
        with count_statements(world) as counted:
            query = "&".join(["status=ACTIVE&flavor=1"] * times)
            answer = world.client.get("/v2.1/servers", query_string=query, token=ALICE)
        assert answer.status_code == 200
        return counted.seen

    assert parameters(MOST_VALUES) == parameters(1)


def test_nobody_asks_for_more_tags_than_a_server_has(world):
    tags = ",".join(f"t{number}" for number in range(51))
    answer = world.client.get(f"/v2.1/servers?tags={tags}", version="2.26", token=ALICE)
    assert answer.status_code == 400
    assert "tags: 51" in answer.text
