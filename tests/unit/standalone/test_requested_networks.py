"""The labels that a server asks of its host for the sake of its networks."""

from roost.networks import parse
from roost.objects import NetworkRequest
from roost.standalone.requested_networks import locality_of

PLAIN, STORAGE, RACK, FAR = KNOWN = parse(
    [
        "plain=10.0.0.0/16",
        "storage=10.1.0.0/16 label=physnet1 label=fast",
        "rack=10.2.0.0/16 label=rack7 prefer=fast",
        "far=10.3.0.0/16 prefer=rack7 prefer=east",
    ]
)


def on(*networks, known=KNOWN):
    requests = [
        NetworkRequest.of(network_id=network and network.id, fixed_ip=None, port_id=None, tag=None)
        for network in networks
    ]
    return [(each.label, each.hard) for each in locality_of(requests, known)]


def test_a_host_must_reach_every_network():
    assert on(STORAGE, RACK) == [("physnet1", True), ("fast", True), ("rack7", True)]


def test_what_is_preferred_is_asked_for_softly():
    assert on(FAR) == [("rack7", False), ("east", False)]


def test_what_one_network_needs_is_needed_however_others_put_it():
    assert on(FAR, RACK) == [("rack7", True), ("east", False), ("fast", False)]


def test_a_request_for_any_network_gets_the_first_one():
    assert on(None, known=(STORAGE, PLAIN)) == [("physnet1", True), ("fast", True)]
    assert on(None, known=()) == []
