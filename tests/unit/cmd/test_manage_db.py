from roost.db.cell import instances
from tests.builders import an_instance


def test_it_syncs_what_is_configured_and_says_so(bare, databases):
    first = bare("db", "sync")
    second = bare("db", "sync")

    assert f"api: {databases.api.url}: nothing -> 0" in first.out
    assert "scheduler: " in first.out
    assert f"api: {databases.api.url}: is at 0" in second.out
    assert [row["schema"] for row in bare("db", "sync", "--json").json] == ["api", "scheduler"]


def test_versions_tell_what_is_missing_and_exit_with_1(bare):
    bare("db", "sync", "api")

    answer = bare("db", "version", "--json", code=1)

    assert [(row["schema"], row["state"]) for row in answer.json] == [
        ("api", "current"),
        ("scheduler", "missing"),
    ]


def test_a_cell_without_configuration_is_synced_by_url(bare, databases):
    bare("db", "sync", "cell", "--database-url", databases.cell1.url)

    answer = bare("db", "version", "cell", "--database-url", databases.cell1.url, "--json")

    assert [row["state"] for row in answer.json] == ["current"]


def test_cells_are_found_by_their_mappings(manage, cell1, databases):
    one = manage("db", "version", "--cell", "cell1", "--json")
    every = manage("db", "version", "--all-cells", "--json")

    assert [row["database"] for row in one.json] == [databases.cell1.url]
    assert [row["database"] for row in every.json] == [databases.cell0.url, databases.cell1.url]


def test_what_was_deleted_long_ago_is_removed(manage, cell1, databases, tmp_path):
    gone = an_instance()
    with databases.cell1.begin() as session:
        instances.create(session, gone)
        instances.mark_deleted(session, gone.uuid)

    young = manage("db", "purge", "--older-than", 30, "--json").json
    dry = manage("db", "purge", "--older-than", 0, "--dry-run", "--json").json
    done = manage("db", "purge", "--older-than", 0, "--archive", tmp_path / "kept", "--json").json

    assert [row["servers"] for row in young] == [0, 0]
    assert dry[1] == {"cell": "cell1", "servers": 1, "state": "to be removed"}
    assert done[1] == {"cell": "cell1", "servers": 1, "state": "removed"}
    assert [*(tmp_path / "kept").iterdir()]
    with databases.cell1.read() as session:
        assert instances.find(session, gone.uuid, deleted=True) is None


def test_contradictory_options_are_refused(bare):
    bare("db", "sync", "api", "--all-cells", code=2)
    bare("db", "sync", "--cell", "x", "--all-cells", code=2)
    bare("db", "sync", "--database-url", "sqlite://", code=2)


def test_a_database_out_of_reach_is_told(bare):
    url = "postgresql+psycopg://roost:secret@127.0.0.1:1/roost"

    answer = bare("db", "version", "api", "--database-url", url, "--json", code=1)
    refused = bare("db", "sync", "api", "--database-url", url, code=1)

    assert answer.json[0]["state"] == "out of reach"
    assert "cannot be reached" in refused.err
    assert "Background" not in refused.err
    assert "secret" not in refused.err + answer.out


def test_commands_on_an_empty_api_database_say_what_to_run(bare):
    assert "roost-manage db sync api" in bare("cell", "list", code=1).err
