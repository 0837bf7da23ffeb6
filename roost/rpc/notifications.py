"""Versioned notifications, for listeners outside Roost."""

import logging
from collections.abc import Sequence
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from roost.context import RequestContext
from roost.objects import RoostObject
from roost.rpc import oslo_driver

LOG = logging.getLogger(__name__)
TOPIC = "versioned_notifications"


class Notifier:
    """Sends payloads ``{name, version, data}`` as ``[oslo_messaging_notifications]`` says.

    A notification that cannot be sent is logged and dropped: no task waits for listeners.

    :param lifetime: seconds after which RabbitMQ drops notifications that nobody reads; None: never

    ``enabled``: whether any is sent. What only a payload needs is not read otherwise.
    """

    def __init__(
        self,
        conf: cfg.ConfigOpts,
        publisher: str,
        *,
        topics: Sequence[str] = (TOPIC,),
        lifetime: float | None = None,
    ) -> None:
        transport = messaging.get_notification_transport(conf)
        if lifetime is not None:
            oslo_driver.let_expire(transport, lifetime)
        self._notifier = messaging.Notifier(
            transport, publisher_id=publisher, topics=list(topics), retry=1
        )
        self.enabled = not {*conf.oslo_messaging_notifications.driver} <= {"noop"}

    def info(
        self,
        context: RequestContext,
        event: str,
        payload: RoostObject | dict[str, Any],
        *,
        publisher: str | None = None,
    ) -> None:
        """Send a notification; its ``publisher`` is this daemon unless another one is named."""
        self._emit("info", context, event, payload, publisher)

    def error(
        self,
        context: RequestContext,
        event: str,
        payload: RoostObject | dict[str, Any],
        *,
        publisher: str | None = None,
    ) -> None:
        """Send a notification of a failure."""
        self._emit("error", context, event, payload, publisher)

    def _emit(
        self,
        priority: str,
        context: RequestContext,
        event: str,
        payload: Any,
        publisher: str | None,
    ) -> None:
        try:
            notifier = self._notifier.prepare(publisher_id=publisher or self._notifier.publisher_id)
            body = payload if isinstance(payload, dict) else payload.obj_to_primitive()
            getattr(notifier, priority)(context.to_dict(), event, body)
        except Exception:
            LOG.warning("could not send the notification %s", event, exc_info=True)
