"""What a rig consists of."""

import dataclasses
import json
import socket
import stat
from urllib.parse import urlsplit

import pytest

import roost.conf
from roost import exception
from roost.rig.plan import Plan, new_plan
from roost.rig.services.private import free_port

RABBIT = "rabbit://guest:guest@127.0.0.1:5672"


@pytest.fixture
def plan(tmp_path):
    return new_plan(
        tmp_path, cells=2, hosts=2, bus=RABBIT, database="mysql+pymysql://root@127.0.0.1:3306"
    )


@pytest.fixture
def guarded(plan):
    """A plan whose daemons come as users of their own."""
    levels = ("api", "cell1", "cell2", "scheduler")
    return dataclasses.replace(
        plan,
        bus_secrets={whose: f"bus-{whose}" for whose in plan.bus_users},
        database_secrets={level: f"db-{level}" for level in levels},
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
    host = "cell2-host1"
    assert options["DEFAULT"]["transport_url"] == plan.bus_url("cell2", as_=host)
    assert options["scheduler"]["transport_url"] == plan.bus_url("api", as_=host)


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
    assert plan.bus_url("cell1") == f"fake://{plan.bus_user('cell1')}@/{plan.bus_name('cell1')}"


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


def test_hosts_without_an_inventory_are_told_of_none(plan):
    assert read(plan, "cell1-host1").fake_driver.inventory_file is None
    assert not plan.inventory_file.exists()


def test_an_inventory_is_written_for_the_hosts_and_kept_with_the_plan(tmp_path):
    pretended = {"cell1-host1": {"vcpus": 3}, "*": {"labels": ["rack7"]}}
    plan = new_plan(tmp_path, cells=1, hosts=2, inventory=pretended)
    assert read(plan, "cell1-host1").fake_driver.inventory_file == str(plan.inventory_file)
    assert json.loads(plan.inventory_file.read_text()) == pretended
    assert Plan.load(plan.state).inventory == pretended


def test_an_inventory_of_a_host_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(exception.Invalid, match="names cell9-host1, but the hosts are cell1-host1"):
        new_plan(tmp_path, cells=1, hosts=1, inventory={"cell9-host1": {}})


def test_daemons_that_may_be_several_are_as_many_as_asked(tmp_path):
    plan = new_plan(tmp_path, cells=1, hosts=1, copies=2)
    assert [daemon.name for daemon in plan.daemons] == [
        "scheduler", "scheduler-2", "cell1-conductor", "cell1-conductor-2", "cell1-host1",
        "super-conductor", "super-conductor-2", "api",
    ]  # fmt: skip


def test_a_bus_and_a_database_are_reached_by_their_detours(plan):
    ways = {"bus/cell1": "127.0.0.1:7001", "database/cell1": "127.0.0.1:7002"}
    led = dataclasses.replace(plan, detours=ways)
    assert led.bus_url("cell1") == f"rabbit://guest:guest@127.0.0.1:7001/{plan.bus_name('cell1')}"
    assert led.database_url("cell1").startswith("mysql+pymysql://root@127.0.0.1:7002/")
    assert led.bus_url("cell2") == plan.bus_url("cell2")
    assert led.database_url("api") == plan.database_url("api")


def test_every_bus_and_every_database_may_have_a_detour(plan):
    assert plan.ways == [
        "bus/api", "bus/cell1", "bus/cell2",
        "database/api", "database/scheduler", "database/cell0", "database/cell1", "database/cell2",
    ]  # fmt: skip


def login(url):
    user, _, password = urlsplit(url).netloc.partition("@")[0].partition(":")
    return user, password


@pytest.mark.parametrize(
    ("daemon", "group", "option", "whose"),
    [
        ("cell1-host1", "DEFAULT", "transport_url", "cell1-host1"),
        ("cell1-host1", "scheduler", "transport_url", "cell1-host1"),
        ("cell2-conductor", "scheduler", "transport_url", "cell2"),
        ("scheduler", "DEFAULT", "transport_url", "api"),
        ("api", "DEFAULT", "transport_url", "api"),
    ],
)
def test_daemons_come_to_a_bus_as_the_user_of_their_level_or_host(
    guarded, daemon, group, option, whose
):
    found = login(guarded.find(daemon).options[group][option])
    assert found == (guarded.bus_user(whose), f"bus-{whose}")


def test_the_user_of_a_host_tells_its_cell_and_its_name(guarded):
    assert guarded.bus_user("cell1-host1") == f"{guarded.bus_user('cell1')}~cell1-host1"
    told = {str(daemon.options["bus"]["api_users"]) for daemon in guarded.daemons}
    assert told == {guarded.bus_user("api")}


@pytest.mark.parametrize(
    ("daemon", "group", "level"),
    [
        ("cell1-conductor", "cell_database", "cell1"),
        ("scheduler", "scheduler_database", "scheduler"),
        ("super-conductor", "api_database", "api"),
        ("api", "api_database", "api"),
    ],
)
def test_daemons_come_to_a_database_as_the_user_of_their_level(guarded, daemon, group, level):
    found = login(guarded.find(daemon).options[group]["connection"])
    assert found == (guarded.database_user(level), f"db-{level}")


def test_the_api_level_has_a_user_of_its_own_in_the_databases_of_cells(guarded):
    assert guarded.users_of("cell1") == ["api", "cell1"]
    assert guarded.users_of("cell0") == guarded.users_of("api") == ["api"]
    found = login(guarded.database_url("cell1", as_="api"))
    assert found == (guarded.database_user("api"), "db-api")


def test_only_the_file_of_the_owner_names_the_owner_of_the_databases(guarded):
    guarded.save()
    owner, manage = (read(guarded, name).api_database.connection for name in ("owner", "manage"))
    assert login(owner) == ("root", "")
    assert login(manage) == (guarded.database_user("api"), "db-api")
    others = [file for file in (guarded.state / "etc").iterdir() if file.stem != "owner"]
    assert not [file for file in others if "root@" in file.read_text()]
    assert not [file for file in others if "guest" in file.read_text()]


def test_nobody_else_reads_the_passwords_of_a_rig(guarded):
    guarded.state.joinpath("rig.json").touch(mode=0o644)
    guarded.save()
    files = [guarded.state / "rig.json", *(guarded.state / "etc").iterdir()]
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    assert "db-api" not in repr(guarded)
    assert Plan.load(guarded.state) == guarded
