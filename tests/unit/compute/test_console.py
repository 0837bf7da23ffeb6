"""The last lines of a guest's console, as many as a message should carry."""

import dataclasses

import pytest

from roost import exception
from roost.compute.operations import consoles
from tests.builders import a_context, a_uuid


class Virt:
    def __init__(self, written):
        self._written = written

    def console_output(self, _uuid):
        return self._written


@pytest.mark.parametrize(
    ("lines", "told"),
    [(None, "a\nb\nc"), (0, ""), (1, "c"), (2, "b\nc"), (9, "a\nb\nc")],
)
def test_the_last_lines_are_told(lines, told):
    assert consoles.tail(Virt("a\nb\nc"), a_uuid(), lines=lines) == told


def test_of_very_much_only_the_end_is_told():
    written = "x" * consoles.MOST + "the end\n"
    told = consoles.tail(Virt(written), a_uuid(), lines=None)
    assert len(told) == consoles.MOST
    assert told.endswith("the end")


def test_a_host_tells_what_its_guest_has_written(rig, boot):
    manager, instance = rig.manager(), rig.instance()
    boot(manager, instance)
    told = manager.get_console_output(a_context(), instance_uuid=instance.uuid, lines=1)
    assert told == "[boot 1] server login:"
    assert len(manager.get_console_output(a_context(), instance_uuid=instance.uuid).split("\n")) > 3
    with pytest.raises(exception.NotFound):
        manager.get_console_output(a_context(), instance_uuid=a_uuid())


def test_a_hypervisor_that_keeps_no_consoles_is_an_answer(rig):
    rig.host = dataclasses.replace(rig.host, virt=object())
    manager = rig.manager()
    with pytest.raises(exception.Unsupported):
        manager.get_console_output(a_context(), instance_uuid=a_uuid())
