"""What the API asks of the scheduler: which hosts there are, and to let one take servers or not."""

from roost import exception


class FakeSchedulerHosts:
    """Stands behind ``SchedulerClient`` for the API; ``enabled`` keeps what it was told."""

    def __init__(self, *reports):
        self.reports = list(reports)
        self.enabled = {}
        self.away = False

    def all_hosts(self, context):
        self._reach()
        return iter(self.reports)

    def set_host_enabled(self, context, *, host, enabled):
        self._reach()
        self.enabled[host] = enabled

    def _reach(self):
        if self.away:
            raise exception.Unavailable("the scheduler does not answer")
