"""Services, flavors, images, the audit; and what holds for all commands."""

import click
import pytest
import sqlalchemy as sa
from click.testing import CliRunner

from roost.cmd.manage.cli import roost_manage
from roost.cmd.manage.deployment import Deployment
from roost.db.api import build_requests, flavors, quota
from roost.db.cell import models as cell_models
from roost.db.cell import services
from tests.builders import a_flavor, a_spec, a_wish
from tests.fakes.scheduler_claims import FakeLedger


@pytest.fixture
def no_claims(monkeypatch):
    monkeypatch.setattr(Deployment, "scheduler", FakeLedger())


def commands(group=roost_manage, path=()):
    for name, command in group.commands.items():
        yield (*path, name)
        if isinstance(command, click.Group):
            yield from commands(command, (*path, name))


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_every_command_answers_in_json_if_asked(command):
    found = roost_manage
    for name in command:
        found = found.commands[name]

    options = [option for parameter in found.params for option in parameter.opts]
    assert isinstance(found, click.Group) or "--json" in options


@pytest.mark.parametrize("command", list(commands()), ids=" ".join)
def test_every_command_has_help(command):
    result = CliRunner().invoke(roost_manage, [*command, "--help"])

    assert result.exit_code == 0
    assert len(result.output.splitlines()) > 3
    assert result.output.startswith("Usage: ")


def test_services_are_listed_with_their_states(manage, cell1, databases):
    with databases.cell1.begin() as session:
        services.report(session, host="h1", binary="roost-compute", availability_zone="west")
        dead = services.report(session, host="h2", binary="roost-compute")
        services.update(session, dead.uuid, forced_down=True, disabled=True)

    rows = manage("service", "list", "--json").json

    assert [(row["host"], row["state"], row["status"]) for row in rows] == [
        ("h1", "up", "enabled"),
        ("h2", "down", "disabled"),
    ]
    assert rows[0]["cell"] == "cell1"
    assert "west" in manage("service", "list").out


def test_a_cell_without_schema_does_not_hide_the_services_of_others(manage, cell1, databases):
    with databases.cell1.begin() as session:
        services.report(session, host="h1", binary="roost-compute")
    with databases.cell0.begin() as session:
        session.execute(sa.text("DROP TABLE roost_cell_version"))

    told = manage("service", "list", code=1)

    assert "h1" in told.out
    assert "cell cell0: the database" in told.err
    assert "db sync --cell cell0" in told.err


def test_a_flavor_is_created_listed_and_deleted(manage):
    sizes = ("--vcpus", 2, "--ram", 2048, "--disk", 10, "--property", "our:x=y")

    created = manage("flavor", "create", "m1.small", *sizes, "--id", "2", "--json").json

    assert created["extra_specs"] == {"our:x": "y"}
    (listed,) = manage("flavor", "list", "--json").json
    assert listed == created
    assert "m1.small" in manage("flavor", "list").out
    assert manage("flavor", "delete", "m1.small", "--json").json == created
    assert manage("flavor", "list", "--json").json == []


@pytest.mark.parametrize("asked", ["hw:x=y", "hw:pmem=6GB"])
def test_a_flavor_that_asks_for_what_nobody_does_is_not_created(manage, asked):
    sizes = ("--vcpus", 2, "--ram", 2048, "--property", asked)
    assert asked.partition("=")[0] in manage("flavor", "create", "m1", *sizes, code=1).err
    assert manage("flavor", "list", "--json").json == []


def test_flavors_that_ask_for_what_nobody_does_are_listed(manage, databases):
    odd = {
        "hw:disk_bus": "scsi",
        "hw:pmem": "6GB",
        "hw:numa_nodes": "3",
        "scs:name-v1": "x",
        "hw:mem_encryption": "no",
    }
    with databases.api.begin() as session:
        flavors.create(session, a_flavor(flavorid="1", name="odd", extra_specs=odd, vcpus=2))
        flavors.create(session, a_flavor(flavorid="2", name="plain"))
        less = {"resources:CUSTOM_LICENSE": "-1"}
        flavors.create(session, a_flavor(flavorid="3", name="less", extra_specs=less))
    rows = manage("flavor", "check", "--json").json
    (less,) = [row for row in rows if row["name"] == "less"]
    assert less["becomes"] == "refused"
    assert "resources:CUSTOM_LICENSE must be a whole number" in less["why"]
    rows = [row for row in rows if row["name"] != "less"]
    assert {row["name"] for row in rows} == {"odd"}
    assert {row["extra_spec"]: row["becomes"] for row in rows} == {
        "hw:disk_bus=scsi": "ignored",
        "hw:pmem=6GB": "refused",
        "": "refused",
    }
    assert "cannot be evenly distributed" in rows[-1]["why"]
    assert "odd" in manage("flavor", "check").out


def test_flavor_mistakes_are_told(manage):
    manage("flavor", "create", "a", "--vcpus", 1, "--ram", 1, "--id", "1")

    assert "exists" in manage("flavor", "create", "a", "--vcpus", 1, "--ram", 1, code=1).err
    assert "nope" in manage("flavor", "delete", "nope", code=1).err
    manage("flavor", "create", "b", "--vcpus", 0, "--ram", 1, code=2)
    manage("flavor", "create", "b", "--vcpus", 2**31, "--ram", 1, code=2)
    manage("flavor", "create", " ", "--vcpus", 1, "--ram", 1, code=2)
    manage("flavor", "create", "b", "--vcpus", 1, "--ram", 1, "--property", "x", code=2)


def test_an_image_is_added_listed_and_deleted(manage, tmp_path):
    file = tmp_path / "cirros.img"
    file.write_bytes(b"bits")

    added = manage("image", "add", "cirros", file, "--disk-format", "qcow2", "--json").json

    assert (added["name"], added["size"], added["disk_format"]) == ("cirros", 4, "qcow2")
    assert manage("image", "list", "--json").json == [added]
    assert manage("image", "delete", added["id"], "--json").json == {"id": added["id"]}
    assert manage("image", "list", "--json").json == []


def test_images_that_somebody_else_keeps_are_not_managed_here(manage, config_file):
    config_file.write_text(config_file.read_text() + "[image]\nstore = glance\n")
    for command in (["list"], ["delete", "x"], ["add", "x", str(config_file)]):
        told = manage("image", *command, code=1).err
        assert "store = glance: images are managed there" in told


def test_an_audit_tells_what_it_found_and_exits_with_1(manage, cell1, databases, no_claims):
    with databases.api.begin() as session:
        limits = dict.fromkeys(quota.RESOURCES, -1)
        quota.take(
            session, project_id="p1", user_id="user", instances=1, cores=1, ram=1, defaults=limits
        )

    told = manage("audit", "--settle", 0, "--verbose", code=1)

    assert "p1" in told.out
    assert "is charged instances 1 for 0" in told.out


@pytest.fixture
def overcharged(databases):
    """The project p1 is charged for a server that it does not have."""
    with databases.api.begin() as session:
        limits = dict.fromkeys(quota.RESOURCES, -1)
        quota.take(
            session, project_id="p1", user_id="user", instances=1, cores=2, ram=512, defaults=limits
        )


def test_an_audit_puts_right_what_it_finds_and_looks_again(manage, cell1, overcharged, no_claims):
    planned = manage("audit", "--settle", 0, "--repair", "--dry-run", "--json", code=1).json
    assert [row["what"] for row in planned["repairs"]] == ["would recount project"]

    answer = manage("audit", "--settle", 0, "--repair", "--json").json

    assert [(row["subject"], row["what"]) for row in answer["repairs"]] == [("p1", "recounted")]
    assert set(answer["counts"].values()) == {0}
    assert manage("audit", "--repair", "--json").json["repairs"] == []


def test_a_dry_run_of_no_repair_is_a_mistake(manage):
    assert "--repair" in manage("audit", "--dry-run", code=2).err


def test_quotas_are_audited_and_counted_anew(manage, overcharged):
    told = manage("quota", "audit", "--json", code=1).json
    assert told["differences"]["p1"]["used"]["cores"] == 2
    assert told["differences"]["p1"]["counted"]["cores"] == 0
    assert "instances" in manage("quota", "audit", code=1).out

    manage("quota", "audit", "--repair")

    assert "the usage of all projects is correct" in manage("quota", "audit").out


def test_the_quota_of_a_project_is_shown(manage, overcharged):
    rows = {row["resource"]: row for row in manage("quota", "show", "p1", "--json").json}
    assert (rows["cores"]["charged"], rows["cores"]["has"], rows["cores"]["limit"]) == (2, 0, 20)


def test_the_quota_of_a_user_is_shown(manage, databases):
    spec = a_spec()
    with databases.api.begin() as session:
        quota.set_for_user(session, "project", "alice", {"instances": 3})
        build_request = a_wish(spec, user_id="alice")
        build_requests.create(session, [build_request], spec=spec)
    shown = manage("quota", "show", "project", "--user", "alice", "--json").json
    rows = {row["resource"]: (row["has"], row["limit"]) for row in shown}
    assert (rows["instances"], rows["cores"][1]) == ((1, 3), 20)


def test_an_audit_that_could_not_look_everywhere_exits_with_1(manage, cell1, databases, no_claims):
    with databases.cell1.begin() as session:
        services.report(session, host="h1", binary="roost-compute")
        table = cell_models.services
        session.execute(sa.update(table).values(forced_down=True))

    assert "could not check guests on host h1" in manage("audit", code=1).err


def test_a_configuration_without_api_database_is_told(tmp_path):
    empty = tmp_path / "empty.conf"
    empty.write_text("")

    result = CliRunner().invoke(roost_manage, ["--config-file", str(empty), "cell", "list"])

    assert result.exit_code == 1
    assert "[api_database] connection" in result.stderr
