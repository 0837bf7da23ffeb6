"""Why an instance got no host, for those who ask: its user, operators, the log."""

import dataclasses
from collections.abc import Sequence
from typing import Self

from roost import exception
from roost.db.types import utcnow
from roost.objects import FilterVerdict, InstanceFault
from roost.objects.explanation import nearest_misses, verdicts_of
from roost.objects.fault import placement_details


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why a build ends without a server.

    ``message`` is for the user, ``counted`` the same with the numbers of hosts, for operators;
    ``verdicts`` are there when the schedulers were asked, and say why they had no answer.
    """

    message: str
    counted: str
    verdicts: Sequence[FilterVerdict] = ()

    @classmethod
    def plain(cls, message: str) -> Self:
        """Make a reason that knows no numbers."""
        return cls(message, message)

    @classmethod
    def refused(cls, error: exception.NoValidHost, *, and_so: str = "") -> Self:
        """Make the reason of a question that had no answer.

        :param and_so: what else is to be said
        """
        verdicts = verdicts_of(error.details)
        return cls(error.uncounted + and_so, error.message + and_so, verdicts)

    @property
    def line(self) -> str:
        """All that matters, for the log."""
        nearest = nearest_misses(self.verdicts)
        return f"{self.counted}; nearest: {nearest}" if nearest else self.counted

    def fault(self, instance_uuid: str, *, host: str | None) -> InstanceFault:
        """Return the fault that the instance keeps."""
        details = placement_details(self.counted, self.verdicts) if self.verdicts else None
        return InstanceFault(
            instance_uuid=instance_uuid,
            code=500,
            message=self.message,
            details=details,
            host=host,
            created_at=utcnow(),
        )
