"""What a rig consists of."""

import dataclasses
import json
import stat
from urllib.parse import urlsplit

import pytest

import roost.conf
from roost import exception
from roost.rig import lifecycle
from roost.rig.plan import CONSOLES, Plan, new_plan

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


def test_a_folder_without_a_rig_is_named_with_what_to_do(tmp_path):
    with pytest.raises(exception.NotFound, match=f"roost-rig up --state {tmp_path}"):
        Plan.load(tmp_path)


def test_options_for_all_daemons_overrule_the_plan(tmp_path):
    overrides = {"DEFAULT": {"rpc_threads": 5}, "conductor": {"max_attempts": 7}}
    plan = new_plan(tmp_path, cells=1, hosts=1, overrides=overrides)
    conf = read(plan, "super-conductor")
    assert (conf.rpc_threads, conf.conductor.max_attempts) == (5, 7)


def test_the_console_proxy_keeps_its_threads_in_a_rig_with_eventlet(tmp_path):
    overrides = {"DEFAULT": {"concurrency": "eventlet"}}
    plan = new_plan(
        tmp_path,
        cells=1,
        hosts=1,
        bus=RABBIT,
        database="postgresql+psycopg://me@127.0.0.1:5432",
        overrides=overrides,
        any_ports=True,
        consoles=True,
    )
    (proxy,) = (program for program in lifecycle.programs(plan) if program.name == CONSOLES)
    assert read(plan, CONSOLES).concurrency == "threading"
    assert proxy.environment == {"OS_DEFAULT__CONCURRENCY": "threading"}


def test_signs_that_mean_something_in_files_survive_them(tmp_path):
    url = "postgresql+psycopg://me:p$w%41d@127.0.0.1:5432"
    plan = new_plan(tmp_path, cells=1, hosts=1, bus=RABBIT, database=url)
    assert read(plan, "scheduler").scheduler_database.connection.startswith(url)


def test_people_are_not_shown_passwords(plan):
    assert plan.bus_host == "rabbit 127.0.0.1:5672"
    assert plan.database_host == "mysql 127.0.0.1:3306"


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
