"""Client of the operator's vendor data services, which answer a request per guest.

Options are those of ``[guest_data]``, and of ``[vendordata_dynamic_auth]`` for credentials.
Requests have time-outs; a service that hangs gets no further request for a while.
"""

import json
import logging
import time
from collections.abc import Mapping
from typing import Any, Final, Self

import requests
import urllib3
from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.session import Session
from oslo_config import cfg

from roost import exception
from roost.external.session import ServiceSessions

LOG = logging.getLogger(__name__)
GROUP: Final = "vendordata_dynamic_auth"
MOST_BYTES: Final = 1 << 20  # of a service's answer for one guest
_OPTION: Final = "[guest_data] vendordata_dynamic_targets"
_TAKEN: Final = ("static", "")
_CHUNK: Final = 1 << 16
_GOOD: Final = range(200, 300)


class VendorServices:
    """Requests vendor data of guests from services.

    :param targets: the services' URLs by name
    :param connect_timeout: seconds that a connection may take
    :param read_timeout: seconds until an answer begins, and again until it ends
    :param fatal: whether the vendor data of a guest fails when one service does not answer
    """

    def __init__(
        self,
        targets: Mapping[str, str],
        *,
        session: Session,
        connect_timeout: float,
        read_timeout: float,
        fatal: bool,
    ) -> None:
        self._targets = targets
        self._session = session
        self._timeouts = connect_timeout, read_timeout
        self._fatal = fatal

    @classmethod
    def from_conf(cls, conf: cfg.ConfigOpts) -> Self:
        """Make it from the options.

        :raises roost.exception.Invalid: when a target has no name or no URL, or a name twice
        """
        options = conf.guest_data
        return cls(
            parse(options.vendordata_dynamic_targets),
            session=ServiceSessions(conf, GROUP, hasty=True).group_session(),
            connect_timeout=options.vendordata_dynamic_connect_timeout,
            read_timeout=options.vendordata_dynamic_read_timeout,
            fatal=options.vendordata_dynamic_failure_fatal,
        )

    def ask(self, question: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answers by service name; an empty object for a service without an answer.

        :raises roost.exception.Unavailable: when a service does not answer, and that is fatal
        """
        return {name: self._said(name, url, question) for name, url in self._targets.items()}

    def _said(self, name: str, url: str, question: Mapping[str, Any]) -> Any:
        try:
            return self._post(url, question)
        except (
            keystone_errors.ClientException,
            requests.RequestException,
            urllib3.exceptions.HTTPError,
            ValueError,
            OSError,
        ) as error:
            if self._fatal:
                raise exception.Unavailable(
                    f"The vendor data {name!r} is unavailable.", why=str(error)
                ) from error
            uuid = question.get("instance-id")
            LOG.warning("[instance: %s] vendor data %r is unavailable: %s", uuid, name, error)
            return {}

    def _post(self, url: str, question: Mapping[str, Any]) -> Any:
        answer = self._session.post(
            url,
            json=dict(question),
            headers={"Accept": "application/json"},
            timeout=self._timeouts,
            redirect=False,
            raise_exc=False,
            stream=True,
            log=False,  # user data may be secret
        )
        with answer:
            if answer.status_code not in _GOOD:
                raise ValueError(f"it answers {answer.status_code} {answer.reason}")
            return json.loads(self._read(answer) or b"{}")

    def _read(self, answer: requests.Response) -> bytes:
        """Return the body, unless it is too large or takes too long."""
        until, data = time.monotonic() + self._timeouts[1], b""
        while piece := answer.raw.read1(_CHUNK, decode_content=True):
            data += piece
            if len(data) > MOST_BYTES:
                raise ValueError(f"its answer is larger than {MOST_BYTES} bytes")
            if time.monotonic() > until:
                raise ValueError("its answer does not come to an end")
        return data


def parse(said: list[str]) -> dict[str, str]:
    """Parse targets like ``name@https://vendor.example/``.

    :raises roost.exception.Invalid: when one has no name or no URL, or a name twice
    """
    targets: dict[str, str] = {}
    for target in said:
        name, at, url = target.partition("@")
        if not at or name in _TAKEN or not url.startswith(("http://", "https://")):
            raise exception.Invalid(
                f"{_OPTION}: {target!r} must be a name other than 'static', @ and a URL of HTTP"
            )
        if name in targets:
            raise exception.Invalid(f"{_OPTION}: there are two named {name!r}")
        targets[name] = url
    return targets
