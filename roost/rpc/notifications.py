"""Versioned notifications, for listeners outside Roost."""

import logging
from typing import Any

import oslo_messaging as messaging
from oslo_config import cfg

from roost.context import RequestContext
from roost.objects import RoostObject

LOG = logging.getLogger(__name__)
TOPIC = "versioned_notifications"


class Notifier:
    """Sends payload objects as ``{name, version, data}`` under ``[oslo_messaging_notifications]``.

    A notification that cannot be sent is logged and dropped: no task waits for listeners.
    """

    def __init__(self, conf: cfg.ConfigOpts, publisher: str) -> None:
        transport = messaging.get_notification_transport(conf)
        self._notifier = messaging.Notifier(
            transport, publisher_id=publisher, topics=[TOPIC], retry=1
        )

    def info(self, context: RequestContext, event: str, payload: RoostObject) -> None:
        self._emit("info", context, event, payload)

    def error(self, context: RequestContext, event: str, payload: RoostObject) -> None:
        self._emit("error", context, event, payload)

    def _emit(self, priority: str, context: RequestContext, event: str, payload: Any) -> None:
        try:
            getattr(self._notifier, priority)(context.to_dict(), event, payload.obj_to_primitive())
        except Exception:
            LOG.warning("could not send the notification %s", event, exc_info=True)
