"""Which daemon of its name a host is, over restarts."""

import pytest

from roost import exception
from roost.compute.host_identity import HostIdentity


def test_a_state_path_has_one_id_over_restarts_and_another_path_another(tmp_path):
    first, second = HostIdentity(tmp_path / "h1"), HostIdentity(tmp_path / "h1")
    assert first.state_id == second.state_id == first.state_id
    assert HostIdentity(tmp_path / "empty").state_id != first.state_id


def test_of_two_daemons_on_one_state_path_the_second_is_refused_while_the_first_lives(tmp_path):
    first, second = HostIdentity(tmp_path / "h1"), HostIdentity(tmp_path / "h1")
    first.hold()
    first.hold()
    with pytest.raises(exception.Conflict, match="Another roost-compute runs on"):
        second.hold()
    first.close()
    second.hold()
    second.close()


@pytest.mark.parametrize("said", ["", "{}", "[]", '{"state_id"'])
def test_a_state_path_that_does_not_say_what_it_is_tells_its_operator_what_to_do(tmp_path, said):
    HostIdentity(tmp_path / "h1").state_id  # noqa: B018 - it is written down
    (tmp_path / "h1" / "identity.json").write_text(said)
    with pytest.raises(exception.Conflict, match=r"identity\.json is damaged.*replace-host h1"):
        HostIdentity(tmp_path / "h1").state_id  # noqa: B018


def test_a_host_that_its_cell_does_not_know_does_nothing(rig, tmp_path):
    rig.conductor.fail("report_service", exception.Conflict("another state path"))
    manager = rig.manager(state=HostIdentity(tmp_path / "state"))
    with pytest.raises(exception.Conflict):
        manager.start()
    assert (rig.conductor.renewals, rig.conductor.findings) == ([], [])
    manager.start()
