"""The outcome of a run, told to programs and people."""

import io

from rich.console import Console

from roost.rig.chaos import report
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
