"""Reasons why an instance got no host: for its user, operators, the log and its history."""

import dataclasses
from collections.abc import Sequence
from typing import Self

from roost import exception
from roost.db.types import utcnow
from roost.objects import FilterVerdict, InstanceActionEvent, InstanceFault
from roost.objects.explanation import nearest_misses, verdicts_of
from roost.objects.instance import placement_details


@dataclasses.dataclass(frozen=True)
class PlacementFailure:
    """The reason why a build failed.

    ``message`` is for the user; ``counted`` is for operators, with numbers of hosts and the failure
    on each; ``verdicts`` are those of the schedulers' filters, if a scheduler decided.
    """

    message: str
    counted: str
    verdicts: Sequence[FilterVerdict] = ()

    @classmethod
    def refused(
        cls,
        error: exception.NoValidHost,
        *,
        first: str = "",
        and_so: str = "",
        inside: str | None = None,
    ) -> Self:
        """Return the reason when the scheduler found no host.

        :param first: reasons for the user, inserted after the prefix that clients match
        :param and_so: text appended for the user
        :param inside: text appended for operators; None: ``and_so``
        """
        counted = error.message + (and_so if inside is None else inside)
        text = error.uncounted
        if first:
            text = exception.NO_VALID_HOST + first + text.removeprefix(exception.NO_VALID_HOST)
        return cls(text + and_so, counted, verdicts_of(error.details))

    @property
    def line(self) -> str:
        """The reason in one line, for the log."""
        nearest = nearest_misses(self.verdicts)
        return f"{self.counted}; nearest: {nearest}" if nearest else self.counted

    def fault(self, instance_uuid: str, *, host: str | None) -> InstanceFault:
        """Return the instance's fault."""
        return InstanceFault(
            instance_uuid=instance_uuid,
            code=500,
            message=self.message,
            details=self._details(),
            host=host,
            created_at=utcnow(),
        )

    def _details(self) -> str | None:
        if self.verdicts:
            return placement_details(self.counted, self.verdicts)
        return None if self.counted == self.message else self.counted


def instant_event(name: str, *, host: str, result: str, details: str) -> InstanceActionEvent:
    """Return an event that begins and ends now.

    :param host: the conductor's host
    :param result: ``Success`` or ``Error``
    """
    now = utcnow()
    return InstanceActionEvent(
        event=name, host=host, start_time=now, finish_time=now, result=result, details=details
    )
