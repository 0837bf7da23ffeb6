"""The question that an operator has explained, and how the answer is shown."""

import pytest

from roost import exception
from roost.cmd.manage.deployment import Deployment
from roost.db.api import aggregates, build_requests, cells, server_groups
from roost.objects import Explanation, FilterVerdict, NearMiss, RankedHost
from tests.builders import a_flavor, a_group, a_selection, a_spec, a_uuid, a_wish

NO_LIMITS = {"server_groups": -1, "server_group_members": -1}


def verdict(name, asked, reasons=None, nearest=None):
    return FilterVerdict.of(filter=name, asked=asked, reasons=reasons or {}, nearest=nearest)


def nothing_fits():
    nearest = NearMiss.of(host="h1", node="n1", lacks="100 MiB free of the 512 requested")
    reasons = {"not enough memory": 3, "on fire": 1}
    return Explanation.of(
        wanted=1,
        fitting=0,
        hosts=5,
        verdicts=[verdict("enabled", 5, {"down": 1}), verdict("ram", 4, reasons, nearest)],
        ranked=[],
        chosen=[],
        sentence="No valid host was found. 3 hosts: not enough memory; 1: down; 1: on fire",
    )


def all_fit(cell, *hosts):
    return Explanation.of(
        wanted=len(hosts),
        fitting=len(hosts),
        hosts=2,
        verdicts=[verdict("enabled", 2)],
        ranked=[
            RankedHost.of(
                host=name, node=name, cell_uuid=cell, score=score, weights={"ram": 1.0, "cpu": 0.5}
            )
            for name, score in (("h1", 1.5), ("h2", 0.25))
        ],
        chosen=[a_selection(host, cell_uuid=cell, claimed=True) for host in hosts],
    )


class Explainer:
    """Stands in for the schedulers: remembers what it is asked, and answers with ``answer``."""

    def __init__(self):
        self.answer = nothing_fits()
        self.asked = []
        self.away = False

    def check(self, context):
        if self.away:
            raise exception.Unavailable("no scheduler answers: start roost-scheduler")

    def explain(self, context, *, request_spec, instances=1):
        self.asked.append((request_spec, instances))
        return self.answer

    @property
    def spec(self):
        return self.asked[-1][0]


@pytest.fixture
def scheduler(monkeypatch):
    explainer = Explainer()
    monkeypatch.setattr(Deployment, "scheduler", explainer)
    return explainer


@pytest.fixture
def explain(manage, cell1, scheduler):
    """Explain with a flavor m1 (id 1) and an image in the store."""
    manage("flavor", "create", "m1", "--vcpus", 2, "--ram", 512, "--disk", 1, "--id", "1")

    def run(*arguments, code=1):
        return manage("placement", "explain", *arguments, code=code)

    return run


@pytest.fixture
def image(manage, tmp_path):
    file = tmp_path / "bits"
    file.write_bytes(b"bits")
    return manage("image", "add", "tiny", file, "--min-ram", 512, "--json").json["id"]


def test_it_asks_what_the_api_would_ask(explain, scheduler, image, databases):
    with databases.api.begin() as session:
        cells.map_host(session, "h1", scheduler_cell(session))
        aggregate = aggregates.create(session, "west", metadata={})
    more = ("--zone", "z1", "--host", "h1", "--aggregate", "west", "--project", "p7")
    hints = ("--hint", "query=[1]", "--hint", "different_host=a", "--hint", "different_host=b")

    explain("--flavor", "m1", "--image", "tiny", "--count", 3, *more, *hints)

    spec, instances = scheduler.asked[-1]
    assert (instances, spec.num_instances) == (3, 3)
    assert (spec.image.id, spec.project_id) == (image, "p7")
    assert (spec.availability_zone, spec.requested_host, spec.forced) == ("z1", "h1", False)
    assert spec.requested_aggregate == aggregate.uuid
    assert spec.hints == {"query": ["[1]"], "different_host": ["a", "b"]}


def scheduler_cell(session):
    return next(mapping.uuid for mapping in cells.list_cells(session) if mapping.name == "cell1")


def test_a_group_comes_without_members_and_is_a_hint_too(explain, scheduler, databases):
    member = a_uuid()
    with databases.api.begin() as session:
        group = server_groups.create(session, a_group(), defaults=NO_LIMITS)
        server_groups.join(
            session, group.uuid, instance_uuids=[member], user_id="user", defaults=NO_LIMITS
        )
    for option in (("--group", group.uuid), ("--hint", f"group={group.uuid}")):
        explain("--flavor", "m1", *option)
        assert (scheduler.spec.group.uuid, scheduler.spec.group.members) == (group.uuid, [])
        assert scheduler.spec.hints == {"group": [group.uuid]}


def test_networks_say_where_servers_must_be(explain, scheduler, config_file):
    networks = "a=10.0.0.0/24 label=x, b=10.1.0.0/24 label=y"
    config_file.write_text(f"{config_file.read_text()}[network]\nlocal_networks = {networks}\n")
    labels = {}
    for named in ((), ("--network", "b"), ("--network", "none")):
        explain("--flavor", "m1", *named)
        labels[named] = [locality.label for locality in scheduler.spec.locality]
    assert list(labels.values()) == [["x"], ["y"], []]


def test_the_question_of_a_server_is_asked_again(explain, scheduler, databases):
    asked = a_spec(flavor=a_flavor(name="stored"), availability_zone="z9", num_instances=2)
    build_request = a_wish(asked)
    with databases.api.begin() as session:
        build_requests.create(session, [build_request], spec=asked)
    explain("--server", build_request.instance_uuid)
    spec, instances = scheduler.asked[-1]
    assert (spec.flavor.name, spec.availability_zone, instances) == ("stored", "z9", 1)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--flavor", "nope"), "nope"),
        (("--flavor", "m1", "--image", "nope"), "no image has the name 'nope'"),
        (("--flavor", "m1", "--host", "h9"), "h9 is mapped to no cell"),
        (("--flavor", "m1", "--force"), "--force needs --host"),
        (("--flavor", "m1", "--aggregate", "nope"), "no aggregate 'nope'"),
        (("--flavor", "m1", "--group", "nope"), "group nope could not be found"),
        (("--flavor", "m1", "--network", "nope"), "Network nope could not be found"),
        (("--flavor", "m1", "--hint", "x"), "'x' must read KEY=VALUE"),
        (("--server", "nope"), "Instance nope could not be found."),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else "",
)
def test_mistakes_are_told(explain, scheduler, arguments, told):
    assert told in explain(*arguments).err
    assert scheduler.asked == []


def test_either_a_flavor_or_a_server_is_named(explain):
    assert "either" in explain(code=2).err
    assert "either" in explain("--flavor", "m1", "--server", a_uuid(), code=2).err


def test_a_request_that_cannot_fit_is_explained_filter_by_filter(explain):
    told = explain("--flavor", "m1").out
    cells_of = [[cell.strip() for cell in line.split("│")[1:-1]] for line in told.splitlines()]
    rows = [row for row in cells_of if row]
    assert rows == [
        ["enabled", "5", "1", "1: down", ""],
        ["ram", "4", "4", "3: not enough memory", "h1 (n1): 100 MiB free of the 512 requested"],
        ["", "", "", "1: on fire", ""],
    ]
    assert "know 5 hosts" in told
    assert told.splitlines()[-1].startswith("No valid host was found. 3 hosts: not enough memory")


def test_a_request_that_fits_shows_the_best_hosts_and_the_places(explain, scheduler, cell1):
    scheduler.answer = all_fit(cell1, "h1", "h2", "h1")
    told = explain("--flavor", "m1", "--count", 3, code=0).out
    assert "│ h1   │ cell1 │ 1.500 │ 1.000 │ 0.500 │" in told
    assert told.splitlines()[-1] == "3 servers would be placed: 2 on h1, 1 on h2"


def test_programs_get_all_of_it(explain, scheduler, cell1):
    refused = explain("--flavor", "m1", "--json").json
    assert refused["sentence"].startswith("No valid host was found")
    assert (refused["hosts"], refused["wanted"], refused["fitting"]) == (5, 1, 0)
    assert refused["filters"][1] == {
        "filter": "ram",
        "asked": 4,
        "refused": 4,
        "reasons": {"not enough memory": 3, "on fire": 1},
        "nearest": {"host": "h1", "node": "n1", "lacks": "100 MiB free of the 512 requested"},
    }
    scheduler.answer = all_fit(cell1, "h2")
    placed = explain("--flavor", "m1", "--json", code=0).json
    assert placed["sentence"] is None
    where = {"host": "h2", "node": "h2", "cell": "cell1", "cell_uuid": cell1}
    assert placed["chosen"] == [where]
    assert placed["ranked"][1] == {**where, "score": 0.25, "weights": {"ram": 1.0, "cpu": 0.5}}
