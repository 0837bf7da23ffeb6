import pytest
import sqlalchemy as sa

from roost.cmd.manage.deployment import masked
from roost.db.api import models as api_models
from roost.db.cell import identity, services
from roost.objects.mapping import CELL0_UUID
from tests.builders import a_uuid


def report_compute(database, host):
    with database.begin() as session:
        services.report(session, host=host, binary="roost-compute", availability_zone="nova")
        services.report(session, host=host, binary="roost-cell-conductor")


def identity_of(database):
    with database.read() as session:
        return identity.get_identity(session)


def create(manage, name, database, *more, bus="fake:///bus", code=0):
    urls = ("--transport-url", bus, "--database-url", database.url)
    return manage("cell", "create", "--name", name, *urls, *more, code=code)


def test_cell0_is_mapped_once(manage, databases):
    url = ("--database-url", databases.cell0.url)

    assert "is mapped" in manage("cell", "map-cell0", *url).out
    assert "already" in manage("cell", "map-cell0", *url).out
    assert identity_of(databases.cell0) == (CELL0_UUID, "cell0")


def test_a_database_without_schema_is_refused_with_the_command(bare, databases):
    bare("db", "sync", "api")

    refused = create(bare, "c", databases.cell1, code=1)

    assert "roost-manage db sync cell --database-url" in refused.err
    assert bare("cell", "list", "--json").json == []


def test_a_database_of_another_cell_is_refused(manage, cell1, databases):
    refused = create(manage, "cell2", databases.cell1, code=1)

    assert "belongs to the cell 'cell1'" in refused.err
    assert len(manage("cell", "list", "--json").json) == 2


def test_a_creation_that_was_cut_short_can_be_repeated(manage, cell1, databases):
    uuid = a_uuid()
    with databases.cell2.begin() as session:
        identity.set_identity(session, cell_uuid=uuid, cell_name="cell2")

    create(manage, "cell2", databases.cell2)

    assert manage("cell", "show", "cell2", "--json").json["uuid"] == uuid


@pytest.mark.parametrize("name", ["", " ", "a b", "-a", "a/b", "x" * 256])
def test_a_name_that_no_unit_or_file_could_have_is_refused(manage, cell1, databases, name):
    assert "must begin with" in create(manage, name, databases.cell2, code=2).err
    assert "must begin with" in manage("cell", "update", "cell1", "--name", name, code=2).err


@pytest.mark.parametrize("bus", ["amqp://here/x", "nonsense", ""])
def test_a_bus_that_cannot_be_is_refused(manage, databases, bus):
    assert "not the URL of a bus" in create(manage, "c", databases.cell1, bus=bus, code=1).err


def test_a_database_that_cannot_be_is_refused_without_its_password(manage):
    refused = manage("cell", "map-cell0", "--database-url", "oracle://u:secret@h/x", code=1)

    assert "not the URL of a database" in refused.err
    assert "secret" not in refused.err


def test_passwords_are_not_shown(manage, databases):
    create(manage, "c", databases.cell1, bus="rabbit://roost:secret@h1,roost:secret@h2/c")

    table, shown = manage("cell", "list").out, manage("cell", "show", "c").out

    assert "rabbit://roost:***@h1,roost:***@h2/c" in table
    assert "secret" not in table + shown


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("postgresql+psycopg://u:p@h/d", "postgresql+psycopg://u:***@h/d"),
        ("mysql+pymysql://u:p@ss@h:3306/d?a=b", "mysql+pymysql://u:***@h:3306/d?a=b"),
        ("rabbit://u:p@h1:1,u:q@h2:2/v", "rabbit://u:***@h1:1,u:***@h2:2/v"),
        ("sqlite:////a/b.sqlite", "sqlite:////a/b.sqlite"),
        ("fake:///cell1", "fake:///cell1"),
        (None, None),
    ],
)
def test_only_the_password_of_a_url_is_masked(url, expected):
    assert masked(url) == expected


def test_hosts_that_report_are_discovered_once(manage, cell1, databases):
    report_compute(databases.cell1, "h1")

    first = manage("cell", "discover-hosts", "--json").json
    report_compute(databases.cell1, "h2")
    second = manage("cell", "discover-hosts", "--json").json

    assert first == [{"host": "h1", "cell": "cell1"}]
    assert second == [{"host": "h2", "cell": "cell1"}]
    hosts = manage("cell", "list-hosts", "--json").json
    assert [(row["host"], row["cell"]) for row in hosts] == [("h1", "cell1"), ("h2", "cell1")]
    assert manage("cell", "show", "cell1", "--json").json["hosts"] == ["h1", "h2"]


def test_a_host_name_used_in_two_cells_is_told_and_the_others_are_mapped(manage, cell1, databases):
    create(manage, "cell2", databases.cell2)
    report_compute(databases.cell1, "h1")
    report_compute(databases.cell2, "h1")

    told = manage("cell", "discover-hosts", code=1)

    assert "cell cell2: host h1 is mapped to cell" in told.err
    assert len(manage("cell", "list-hosts", "--json").json) == 1


def test_discovery_goes_on_past_a_cell_out_of_reach(manage, cell1, databases, tmp_path):
    create(manage, "cell2", databases.cell2)
    report_compute(databases.cell2, "h2")
    databases.cell1.close()
    (tmp_path / "cell1.sqlite").rename(tmp_path / "away")
    (tmp_path / "cell1.sqlite").mkdir()

    told = manage("cell", "discover-hosts", "--json", code=1)

    assert told.json == [{"host": "h2", "cell": "cell2"}]
    assert "cell cell1: the database" in told.err


def test_an_update_changes_what_it_names(manage, cell1, databases):
    manage("cell", "update", "cell1", "--name", "west", "--disable")

    shown = manage("cell", "show", cell1, "--json").json

    assert (shown["name"], shown["disabled"]) == ("west", True)
    assert identity_of(databases.cell1) == (cell1, "west")


def test_a_cell_with_hosts_is_deleted_by_force_only(manage, cell1, databases):
    report_compute(databases.cell1, "h1")
    manage("cell", "discover-hosts")

    assert "1 hosts and 0 instances" in manage("cell", "delete", "cell1", code=1).err
    manage("cell", "delete", "cell1", "--force")

    assert [cell["name"] for cell in manage("cell", "list", "--json").json] == ["cell0"]
    assert manage("cell", "list-hosts", "--json").json == []


def test_a_deployment_in_order_is_verified(manage, cell1, databases):
    report_compute(databases.cell1, "h1")
    manage("cell", "discover-hosts")

    rows = manage("cell", "verify", "--json").json

    assert [row for row in rows if not row["passed"]] == []
    assert [row["check"] for row in rows if row["cell"] == "cell1"] == [
        "database and schema",
        "the database is this cell's",
        "bus",
        "hosts are mapped",
    ]


def failed(manage, *arguments):
    rows = manage("cell", "verify", *arguments, "--json", code=1).json
    return {row["check"]: row["what_to_do"] for row in rows if not row["passed"]}


def test_verify_tells_of_a_bus_out_of_reach(manage, databases):
    create(manage, "c", databases.cell1, bus="rabbit://u:secret@127.0.0.1:1/c")

    told = failed(manage, "c")["bus"]

    assert "rabbit://u:***@127.0.0.1:1/c" in told
    assert "--transport-url" in told


def test_verify_tells_of_a_database_of_another_cell(manage, cell1, databases):
    with databases.api.begin() as session:
        table = api_models.cell_mappings
        there = sa.update(table).where(table.c.uuid == cell1)
        session.execute(there.values(database_url=databases.cell0.url))

    assert "two mappings share" in failed(manage, "cell1")["the database is this cell's"]


SECRET = "rabbit://roost:geheim@127.0.0.1:1/cell2"


def created(manage, *more, **given):
    return manage("cell", "create", "--name", "cell2", *more, "--json", **given)


def refused(manage, *more):
    return manage("cell", "create", "--name", "cell2", *more, code=2).err


def test_urls_are_read_from_files(manage, cell1, databases, tmp_path):
    bus, database = tmp_path / "bus", tmp_path / "database"
    bus.write_text(f"{SECRET}\n")
    database.write_text(databases.cell2.url)
    told = created(manage, "--transport-url", f"@{bus}", "--database-url", f"@{database}")
    assert told.json["database_url"] == databases.cell2.url
    assert told.json["transport_url"] == SECRET.replace("geheim", "***")
    assert "password" not in told.err


def test_a_password_on_the_command_line_is_warned_of(manage, cell1, databases):
    told = created(manage, "--transport-url", SECRET, "--database-url", databases.cell2.url)
    assert "--transport-url has a password" in told.err
    assert "@FILE" in told.err
    assert "--database-url has" not in told.err
    assert "geheim" not in told.err


@pytest.mark.parametrize("content", ["", "\n", "a b", "sqlite://\nsqlite://"])
def test_a_file_without_one_url_is_refused(manage, cell1, tmp_path, content):
    (tmp_path / "url").write_text(content)
    assert "must have one URL" in refused(manage, "--transport-url", f"@{tmp_path}/url")
    assert "cannot be read" in refused(manage, "--transport-url", f"@{tmp_path}/none")
