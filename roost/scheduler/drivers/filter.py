"""The default driver: what passes every filter, best weight first."""

from roost.scheduler.drivers.greedy import GreedyDriver


class FilterDriver(GreedyDriver):
    """Greedy: places one instance after the other on the host that is best by then."""
