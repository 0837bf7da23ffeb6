"""Where the solver finds what greedy cannot."""

from hypothesis import given

from roost import conf
from roost.objects import ServerGroup
from roost.scheduler import plugins
from roost.scheduler.drivers import solver as solver_module
from tests.builders import CELL1, a_flavor
from tests.unit.scheduler.host_builders import a_request, a_row, hosts_of
from tests.unit.scheduler.test_engine_properties import again, hosts, requests


def make(driver, **options):
    options = {"driver": driver, "filters": FILTERS, **options}
    return plugins.load_driver(conf.of({"scheduler": options}).scheduler)


FILTERS = ["enabled", "requested", "retry", "availability_zone", "ram", "cpu", "disk"]
FILTERS += ["server_group_affinity", "server_group_anti_affinity"]
TINY = a_flavor(vcpus=1, memory_mb=1, root_gb=0)


def group(policy, **values):
    return ServerGroup.of(
        uuid=CELL1, project_id="p", user_id="u", name="g", policy=policy, **values
    )


def placed(driver, request, *rows):
    all_hosts = hosts_of(*rows)
    decision = driver.decide(request, all_hosts)
    return sorted(all_hosts.name("host", place.row) for place in decision.chosen)


def test_a_group_that_must_be_together_goes_where_all_of_it_fits():
    """Greedy begins on the host with most memory, which has not CPUs enough for all."""
    rows = [a_row("wide", vcpus=2, memory_mb=99999), a_row("deep", vcpus=4, memory_mb=100)]
    wish = {"count": 4, "flavor": TINY, "group": group("affinity")}
    assert placed(make("filter"), a_request(**wish), *rows) == []
    assert placed(make("solver"), a_request(**wish), *rows) == ["deep"] * 4


def test_filling_up_opens_no_more_hosts_than_are_needed():
    """Greedy begins on the fullest host and needs another for the rest."""
    rows = [a_row("three", vcpus=3, memory_mb=3), a_row("four", vcpus=4, memory_mb=4)]
    wish = {"count": 4, "flavor": TINY}
    pack = {"weighers": ["ram=-1.0"]}
    assert set(placed(make("filter", **pack), a_request(**wish), *rows)) == {"three", "four"}
    assert placed(make("solver", **pack), a_request(**wish), *rows) == ["four"] * 4


def test_apart_means_apart_and_no_more_than_allowed_on_a_host():
    rows = [a_row(f"h{i}") for i in range(3)]
    strict = a_request(count=3, group=group("anti-affinity"))
    assert placed(make("solver"), strict, *rows) == ["h0", "h1", "h2"]
    loose = a_request(count=6, group=group("anti-affinity", max_server_per_host=2))
    assert placed(make("solver"), loose, *rows) == ["h0", "h0", "h1", "h1", "h2", "h2"]


def test_greedys_answer_stands_when_the_time_is_up(monkeypatch):
    class Nothing:
        x, message = None, "time is up"

    monkeypatch.setattr(solver_module.optimize, "milp", lambda *_args, **_kwargs: Nothing())
    rows = [a_row("h1"), a_row("h2")]
    assert placed(make("solver"), a_request(count=2), *rows) == ["h1", "h2"]


def total(driver, request, rows):
    """The sum of the weights, each as it was when its instance came; hosts cost a little."""
    all_hosts = hosts_of(*rows)
    judge, sums = driver.engine, 0.0
    chosen = [place.row for place in driver.decide(again(request), hosts_of(*rows)).chosen]
    for row in sorted(chosen):
        sums += float(judge.weights(again(request), all_hosts)[row])
        all_hosts.take(row, request.asked)
    return len(chosen), sums - 1e-3 * len(set(chosen))


GREEDY, SOLVER = make("filter"), make("solver")


@given(requests, hosts)
def test_it_is_never_worse_than_greedy(request, rows):
    greedy, solved = total(GREEDY.twin(), request, rows), total(SOLVER.twin(), request, rows)
    assert solved[0] >= greedy[0]
    if solved[0] == greedy[0]:
        assert solved[1] >= greedy[1] - 1e-6
