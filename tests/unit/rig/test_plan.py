"""What a rig consists of."""

import socket

import pytest

import roost.conf
from roost import exception
from roost.rig.plan import Plan, free_port, new_plan, parse_settings

RABBIT = "rabbit://guest:guest@127.0.0.1:5672"


@pytest.fixture
def plan(tmp_path):
    return new_plan(
        tmp_path, cells=2, hosts=2, bus=RABBIT, database="mysql+pymysql://root@127.0.0.1:3306"
    )


def read(plan, name):
    plan.save()
    return roost.conf.load([], files=[str(plan.config_file(name))])


def test_every_host_of_every_cell_has_a_compute(plan):
    computes = [daemon.name for daemon in plan.daemons if daemon.program == "roost-compute"]
    assert computes == ["cell1-host1", "cell1-host2", "cell2-host1", "cell2-host2"]


def test_every_cell_has_a_conductor_and_the_rest_is_there_once(plan):
    others = [daemon.name for daemon in plan.daemons if daemon.program != "roost-compute"]
    assert sorted(others) == [
        "api", "cell1-conductor", "cell2-conductor", "scheduler", "super-conductor",
    ]  # fmt: skip


def test_a_compute_is_told_of_no_database(plan):
    groups = plan.find("cell1-host1").options
    assert not [name for name in groups if name.endswith("database")]


def test_a_cell_conductor_knows_its_own_database_only(plan):
    options = plan.find("cell2-conductor").options
    assert options["cell_database"]["connection"] == plan.database_url("cell2")
    assert [name for name in options if name.endswith("database")] == ["cell_database"]


def test_cells_know_their_own_bus_and_that_of_the_schedulers(plan):
    options = plan.find("cell2-host1").options
    assert options["DEFAULT"]["transport_url"] == plan.bus_url("cell2")
    assert options["scheduler"]["transport_url"] == plan.bus_url("api")


def test_no_two_levels_share_a_bus_or_a_database(plan):
    urls = [plan.bus_url(level) for level in plan.bus_levels]
    urls += [plan.database_url(whose) for whose in plan.databases]
    assert len(set(urls)) == len(urls) == 3 + 5


def test_two_rigs_on_one_broker_stay_apart(plan, tmp_path):
    other = new_plan(tmp_path, cells=2, hosts=2, bus=RABBIT)
    assert other.bus_url("cell1") != plan.bus_url("cell1")


def test_an_embedded_rig_keeps_its_databases_in_its_folder(tmp_path):
    plan = new_plan(tmp_path, cells=1, hosts=1)
    assert plan.embedded
    assert plan.database_url("cell1") == f"sqlite:///{tmp_path}/db/cell1.sqlite"
    assert plan.bus_url("cell1") == f"fake:///{plan.bus_name('cell1')}"


def test_a_plan_is_read_as_it_was_saved(plan):
    plan.save()
    assert Plan.load(plan.state) == plan


def test_a_folder_without_a_rig_is_named_with_what_to_do(tmp_path):
    with pytest.raises(exception.NotFound, match=f"roost-rig up --state {tmp_path}"):
        Plan.load(tmp_path)


def test_daemons_read_what_was_planned(plan):
    assert read(plan, "cell1-conductor").cell_database.connection == plan.database_url("cell1")


def test_options_for_all_daemons_overrule_the_plan(tmp_path):
    overrides = {"DEFAULT": {"rpc_threads": 5}, "conductor": {"max_attempts": 7}}
    plan = new_plan(tmp_path, cells=1, hosts=1, overrides=overrides)
    conf = read(plan, "super-conductor")
    assert (conf.rpc_threads, conf.conductor.max_attempts) == (5, 7)


def test_signs_that_mean_something_in_files_survive_them(tmp_path):
    url = "postgresql+psycopg://me:p$w%41d@127.0.0.1:5432"
    plan = new_plan(tmp_path, cells=1, hosts=1, bus=RABBIT, database=url)
    assert read(plan, "scheduler").scheduler_database.connection.startswith(url)


def test_an_unknown_daemon_is_answered_with_those_that_there_are(plan):
    with pytest.raises(exception.NotFound, match="cell1-host1, cell1-host2"):
        plan.find("cell9-host1")


def test_the_name_of_a_host_tells_its_cell(plan):
    assert plan.cell_of("cell2-host1") == "cell2"
    assert plan.cell_of("") == "cell0"


def test_a_port_that_is_taken_is_not_chosen():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert free_port(port) != port


def test_people_are_not_shown_passwords(plan):
    assert plan.bus_host == "rabbit 127.0.0.1:5672"
    assert plan.database_host == "mysql 127.0.0.1:3306"


def test_settings_are_options_by_group():
    assert parse_settings(["a.b=1", "a.c=x=y"]) == {"a": {"b": "1", "c": "x=y"}}


def test_a_setting_that_says_nothing_is_refused():
    with pytest.raises(exception.Invalid, match="must read GROUP"):
        parse_settings(["rpc_threads=5"])
