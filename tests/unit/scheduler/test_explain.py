from roost.scheduler import explain
from roost.scheduler.engine import Decision
from tests.unit.scheduler.rows import a_request


def test_the_commonest_reason_comes_first():
    refusals = {"enabled": {"disabled": 2}, "ram": {"not enough memory": 4}}
    assert explain.sentence(refusals) == (
        "No valid host was found: 4 hosts: not enough memory; 2: disabled"
    )


def test_one_host_is_not_hosts():
    assert explain.sentence({"cpu": {"not enough CPUs": 1}}).endswith(": 1 host: not enough CPUs")


def test_a_house_without_hosts_is_said_to_be_so():
    assert explain.sentence({}) == "No valid host was found: no host is known"


def test_it_says_how_many_would_have_fitted():
    text = explain.sentence({"ram": {"not enough memory": 3}}, wanted=5, fitting=2)
    assert text == (
        "No valid host was found (there is room for 2 of 5): 3 hosts: not enough memory"
    )


def test_the_error_carries_reasons_by_filter():
    refusals = {"enabled": {"down": 1}}
    error = explain.no_valid_host(a_request(), Decision([], refusals, fitting=0))
    assert error.details["refusals"] == refusals
    assert error.message == "No valid host was found: 1 host: down"
