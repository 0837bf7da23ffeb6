"""Tokens of consoles in the API-level database."""

import datetime

import pytest

from roost.db.api import build_requests, console_tokens, instance_mappings
from roost.db.api.console_tokens import ConsoleToken
from roost.objects import consoles
from tests.builders import CELL1, NOW, a_spec, a_uuid, a_wish, an_instance

LATER = NOW + datetime.timedelta(seconds=600)


def a_token(**values):
    told = {"instance_uuid": a_uuid(), "kind": "vnc", "host": "10.0.0.1", "port": 6900}
    digest = consoles.digest(consoles.new_token())
    return ConsoleToken(**{"digest": digest, "expires_at": LATER} | told | values)


def test_a_token_is_found_until_it_expires(api_db):
    token = a_token()
    with api_db.begin() as session:
        console_tokens.create(session, token)
        assert console_tokens.find(session, token.digest, now=NOW) == token
        assert console_tokens.find(session, token.digest, now=LATER) is None
        assert console_tokens.find(session, consoles.digest("other"), now=NOW) is None


def queue_for_delete(session, uuid):
    instance_mappings.queue_for_delete(session, uuid)


def forget(session, uuid):
    instance_mappings.forget(session, uuid)


@pytest.mark.parametrize("end", [queue_for_delete, forget])
def test_who_is_rid_of_a_server_is_rid_of_the_tokens_of_its_consoles(api_db, end):
    spec = a_spec()
    instance, other = an_instance(), a_token()
    mine = a_token(instance_uuid=instance.uuid)
    with api_db.begin() as session:
        build_requests.create(session, [a_wish(spec, instance=instance)], spec=spec)
        instance_mappings.map_to_cell(session, instance.uuid, CELL1)
        for each in (mine, other):
            console_tokens.create(session, each)
        end(session, instance.uuid)
        found = console_tokens.known(session, [mine.digest, other.digest])
    assert found == {other.digest}
