"""Why an instance got no host, for its user, operators and the log; and as event of its history."""

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
    """Why a build ends without a server.

    ``message`` is for the user; ``counted`` the same for operators, with the numbers of hosts and
    with what failed on which; ``verdicts`` are there when the schedulers were asked, and say why
    they had no answer.
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
        """Make the reason of a question that had no answer.

        :param first: the reasons that users read first, behind the words that clients match
        :param and_so: what else is to be said
        :param inside: what operators are told in its place
        """
        counted = error.message + (and_so if inside is None else inside)
        told = error.uncounted
        if first:
            told = exception.NO_VALID_HOST + first + told.removeprefix(exception.NO_VALID_HOST)
        return cls(told + and_so, counted, verdicts_of(error.details))

    @property
    def line(self) -> str:
        """All that matters, for the log."""
        nearest = nearest_misses(self.verdicts)
        return f"{self.counted}; nearest: {nearest}" if nearest else self.counted

    def fault(self, instance_uuid: str, *, host: str | None) -> InstanceFault:
        """Return the fault that the instance keeps."""
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

    :param host: of the conductor that it happens on
    :param result: ``Success`` or ``Error``
    """
    now = utcnow()
    return InstanceActionEvent(
        event=name, host=host, start_time=now, finish_time=now, result=result, details=details
    )
