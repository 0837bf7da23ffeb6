"""Pages of servers that are gone: where they were is known until they are purged."""

import datetime

import pytest

from roost import exception
from tests.builders import CELL1, CELL2, NOW


@pytest.mark.parametrize("query", ["deleted=1", "changes-since=2026-01-01T00:00:00Z"])
def test_pages_go_on_after_a_server_that_is_gone(world, query):
    for number in range(3):
        for cell in (CELL1, CELL2):
            world.end(world.place(cell, display_name=f"{cell}{number}"), cell)
    path = f"/v2.1/servers/detail?all_tenants=1&limit=1&{query}"
    pages = [answer.json["servers"] for answer in world.client.pages(path)]
    assert len({server["name"] for page in pages for server in page}) == 6


def test_pages_go_on_after_a_server_that_is_gone_from_a_cell_that_is_away(world):
    gone = world.place(CELL2, created_at=NOW + datetime.timedelta(seconds=1))
    world.place(CELL1, display_name="older", created_at=NOW)
    world.end(gone, CELL2)
    world.databases[CELL2].read = _away
    path = f"/v2.1/servers?all_tenants=1&marker={gone.uuid}"
    shown = world.client.get(path, version="2.69").json["servers"]
    assert [server["name"] for server in shown] == ["older"]


def _away():
    raise exception.Unavailable("cannot reach cell2")
