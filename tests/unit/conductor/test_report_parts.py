"""What a cell-conductor tells hosts of the parts of reports that schedulers read."""

import pytest

from roost import exception
from roost.conductor.cell.report_parts import ReportParts


class Schedulers:
    answer = ()

    def within(self, _seconds):
        return self

    def list_read_parts(self, _context):
        if isinstance(self.answer, Exception):
            raise self.answer
        return list(self.answer)


@pytest.mark.parametrize(
    "kind", [exception.Timeout, exception.Unavailable, exception.VersionTooOld]
)
def test_the_last_answer_of_the_schedulers_stays_while_none_answers(kind):
    schedulers = Schedulers()
    parts = ReportParts(schedulers)
    for answer, read in ((kind("none"), None), (["labels"], ["labels"]), ([], [])):
        for schedulers.answer in (answer, kind("none")):
            parts.ask()
        assert parts.read == read
