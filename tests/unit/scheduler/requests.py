"""Questions to a single filter or weigher."""

from roost.objects import Retry, TriedHost
from tests.unit.scheduler.host_builders import hosts_of


def refused(each, request, *rows, aggregates=()):
    """Who is refused, and why, as ``{host: reason}``; the first reason counts."""
    assert each.applies_to(request)
    hosts = hosts_of(*rows, aggregates=aggregates)
    return {
        hosts.name("host", row): reason
        for reason, mask in reversed(each.refuse(request, hosts))
        for row in mask.nonzero()[0].tolist()
    }


def closest(each, request, *rows, aggregates=()):
    """Who of these, all refused, came closest, and what it lacks."""
    hosts = hosts_of(*rows, aggregates=aggregates)
    miss = each.closest(request, hosts)
    return hosts.name("host", miss.row), miss.lacks


def weights(each, request, *rows, aggregates=()):
    """The weight of each host."""
    assert each.applies_to(request)
    return each.weigh(request, hosts_of(*rows, aggregates=aggregates)).tolist()


def tried(*pairs):
    """What was tried before, as (host, node)."""
    return Retry(
        max_attempts=3,
        tried=[TriedHost(host=host, node=node, reason="it broke") for host, node in pairs],
    )
