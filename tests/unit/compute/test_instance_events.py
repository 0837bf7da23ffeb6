"""What users are told of a failure on a host, and what administrators are told."""

import pytest

from roost import exception
from roost.compute.instance_events import InstanceEvents
from roost.exception import details, reason

INSIDE = "h1: /var/lib/roost/disk cannot be read"
MENDABLE = "The image is too large: take a larger flavor."
FOR_USERS = [
    exception.Invalid(MENDABLE),
    exception.Conflict(MENDABLE),
    exception.NotFound(MENDABLE),
    exception.Forbidden(MENDABLE),
    exception.Unsupported(MENDABLE),
    exception.QuotaExceeded(MENDABLE),
    exception.BuildFailed(MENDABLE, reschedulable=False),
]
OF_HOSTS = [
    exception.Internal(INSIDE),
    exception.NoCapacity(INSIDE),
    exception.Timeout(INSIDE),
    exception.BuildFailed(INSIDE),
    OSError(INSIDE),
    RuntimeError(INSIDE),
]


@pytest.mark.parametrize("error", FOR_USERS, ids=repr)
def test_users_read_what_they_can_mend(error):
    assert reason(error) == details(error) == MENDABLE


@pytest.mark.parametrize("error", OF_HOSTS, ids=repr)
def test_what_is_inside_of_hosts_is_in_the_details_alone(error):
    timeline = InstanceEvents("h1")
    with pytest.raises(type(error)), timeline.step("compute.spawn"):
        raise error
    (event,) = timeline.events
    assert INSIDE in event.details
    assert reason(error)
    assert not set(INSIDE.split()) & {*reason(error).split()} - {"cannot", "be"}
