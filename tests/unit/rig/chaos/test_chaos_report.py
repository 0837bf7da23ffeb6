"""The outcome of a run, told to programs and people."""

import io
import json

from rich.console import Console

from roost.rig.chaos import report, run
from roost.rig.chaos.answers import Answers
from roost.rig.chaos.breaker import Made
from roost.rig.chaos.keeper import Sample
from roost.rig.chaos.recovery import Recovery
from roost.rig.chaos.report import ChaosOutcome
from roost.rig.chaos.schedule import Fault
from roost.rig.chaos.verdict import Item
from roost.rig.chaos.watch import StormServer
from roost.rig.chaos.wishes import StormRequest

MIB = 2**20


def server(name, **values):
    return StormServer(name, StormRequest(0, name, 1, "", "stay", 0), 1.0, **values)


def outcome(**values):
    known = {
        "command": "roost-rig chaos --seed 7",
        "seed": 7,
        "faults": [Made(Fault(1, 2.0, 3.0, "kill", "api"), 12.0, 15.5)],
        "servers": [
            server("a", answer="accepted", state="ACTIVE"),
            server("b", answer="accepted", state="ERROR", fault="no luck"),
            server("c", answer="accepted", state="ACTIVE", delete_asked=3.0, gone=4.0),
            server("d", answer="refused"),
        ],
        "answers": Answers(),
        "recovery": Recovery(3, 1.0, 2.0, 2.5),
        "quiet": 4.0,
        "items": [],
        "memory": {"api": [Sample(1, 0, 10 * MIB), Sample(1, 60, 12 * MIB), Sample(2, 70, MIB)]},
        "rows": {"api.quotas": (1, 2)},
    }
    return ChaosOutcome(**(known | values))


def shown(told, **options):
    out = io.StringIO()
    console = Console(file=out, width=110, highlight=False)
    report.show(console, told, **({"with_memory": False} | options))
    return out.getvalue()


def test_json_tells_everything_in_plain_values():
    told = json.loads(json.dumps(report.as_json(outcome())))
    assert told["held"] is True
    assert told["requests"] == {"asked": 4, "accepted": 3, "deleted": 1, "ACTIVE": 1, "ERROR": 1}
    assert told["faults_made"] == {"kill": 1}
    assert told["faults"][0]["lasted"] == 3.5
    assert told["errors"] == {"no luck": 1}
    assert told["recovery_seconds"]["p99"] == 2.0
    assert told["found"] == {"lost": 0, "doubled": 0, "leaked": 0, "unexplained": 0}
    assert told["rows"] == {"api.quotas": {"before": 1, "after": 2}}


def test_one_thing_that_should_not_be_breaks_the_run():
    broken = outcome(items=[Item("lost", "a", "is not there")])
    assert not broken.held
    assert report.as_json(broken)["found"]["lost"] == 1
    assert report.as_json(broken)["items"] == [
        {"kind": "lost", "subject": "a", "detail": "is not there"}
    ]


def test_people_see_counts_reasons_and_each_thing():
    text = shown(outcome(items=[Item("lost", "a", "is not there")]))
    for word in ("kill 1", "ACTIVE 1", "p99 2.0 s", "1 in ERROR: no luck", "lost: a: is not there"):
        assert word in text


def test_the_logs_tell_each_things_story_in_order_of_time(tmp_path):
    logs = tmp_path / "log"
    logs.mkdir()
    (logs / "api.log").write_text(
        "2026-01-01 10:00:02.000 1 INFO last uuid-1\n2026-01-01 10:00:03.000 1 INFO uuid-2\n"
    )
    (logs / "scheduler.log").write_text("2026-01-01 10:00:01.000 1 INFO first uuid-1\n")
    item = Item("lost", "a", "is not there")
    run.gather(logs, tmp_path / "evidence", [item], [server("a", ids=["uuid-1"])])
    (written,) = (tmp_path / "evidence").iterdir()
    lines = written.read_text().splitlines()
    assert ["first" in lines[0], "last" in lines[1], len(lines)] == [True, True, 2]
