"""Notifications over RabbitMQ, as a listener of oslo.messaging gets them."""

import oslo_messaging as messaging
import pytest

from roost import conf
from roost.rpc.notifications import TOPIC
from tests.functional.embedded import embedded_cloud
from tests.stories.cloud import wait_until
from tests.stories.moves import CONFIRM, host_of
from tests.stories.power import act, boot, wait_at_rest


class Listener:
    def __init__(self):
        self.heard = []

    def info(self, context, publisher, event, payload, metadata):
        self.heard.append((event, publisher, payload))

    error = info


@pytest.fixture
def connections(monkeypatch, rabbitmq_url):
    """Close all connections before their virtual host goes: a daemon has its own until it ends."""
    made, connect = [], messaging.get_notification_transport

    def keep(*how, **more):
        made.append(connect(*how, **more))
        return made[-1]

    monkeypatch.setattr(messaging, "get_notification_transport", keep)
    yield
    for transport in made:
        transport.cleanup()


@pytest.fixture
def options(rabbitmq_url):
    return {
        "oslo_messaging_notifications": {"driver": "messagingv2", "transport_url": rabbitmq_url}
    }


@pytest.fixture
def listener(rabbitmq_url, connections):
    made = Listener()
    server = messaging.get_notification_listener(
        messaging.get_notification_transport(conf.of({}), url=rabbitmq_url),
        [messaging.Target(topic=TOPIC)],
        [made],
        executor="threading",
    )
    server.start()
    yield made
    server.stop()
    server.wait()


def test_a_listener_follows_a_resize(tmp_path, options, listener):
    with embedded_cloud(tmp_path, cells=1, hosts=2, overrides=options) as cloud:
        before = boot(cloud, networks="auto")
        larger = cloud.create_flavor(name="larger", vcpus=2)
        act(cloud, before["id"], {"resize": {"flavorRef": larger}})
        after = wait_at_rest(cloud, before["id"], "VERIFY_RESIZE")
        act(cloud, before["id"], CONFIRM)
        wait_at_rest(cloud, before["id"], "ACTIVE")
        ended = "instance.resize_confirm.end"
        wait_until(lambda: ended in [event for event, *_more in listener.heard], ended)
        cloud.delete_all()
    here, there = (f"nova-compute:{host_of(server)}" for server in (before, after))
    steps = {"resize_prep": there, "resize": here, "resize_finish": there, "resize_confirm": here}
    heard = [one for one in listener.heard if one[0].startswith("instance.resize")]
    assert [(event, publisher) for event, publisher, _payload in heard] == [
        (f"instance.{step}.{phase}", publisher)
        for step, publisher in steps.items()
        for phase in ("start", "end")
    ]
    payloads = [payload for _event, _publisher, payload in heard]
    new = payloads[0]["nova_object.data"]["new_flavor"]["nova_object.data"]
    assert (new["name"], new["vcpus"]) == ("larger", 2)
    data = [payload["nova_object.data"] for payload in payloads]
    assert {one["uuid"] for one in data} == {before["id"]}
    assert [one["flavor"]["nova_object.data"]["vcpus"] for one in data] == [1] * 5 + [2] * 3
    assert [one["host"] for one in data] == [host_of(before)] * 5 + [host_of(after)] * 3
    assert [address["nova_object.data"]["address"] for address in data[0]["ip_addresses"]] != []
