"""The Neutron client, on openstacksdk: calls have time-outs, failures become Roost's exceptions.

Options are those of ``[neutron]``. The SDK is large, and loaded only where Neutron is used.
"""

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, Final

from keystoneauth1 import exceptions as keystone_errors
from keystoneauth1.session import Session
from oslo_config import cfg

from roost import exception
from roost.context import RequestContext
from roost.external.session import ServiceSessions

GROUP: Final = "neutron"
DRIVER: Final = "neutron"  # of [network] driver, where the ports of instances are Neutron's
# Neutron's type of a conflict -> our exception; any other: a Conflict.
_CONFLICTS: Final = {
    "IpAddressInUse": exception.AddressInUse,
    "IpAddressAlreadyAllocated": exception.AddressInUse,
    "IpAddressGenerationFailure": exception.NoCapacity,
    "IpAddressGenerationFailureNoMatchingSubnet": exception.NoCapacity,
    "OverQuota": exception.QuotaExceeded,
}
_UNAUTHENTICATED: Final = 401
_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_PRECONDITION: Final = 412
_KINDS: Final[dict[int, type[exception.RoostError]]] = {
    400: exception.Invalid,
    403: exception.Forbidden,
    _NOT_FOUND: exception.NotFound,
}


NAMED: Final = 50  # ids in one request: they are part of its URL


class Changed(exception.Conflict):
    """The resource has changed since it was read."""


class Neutron:
    """Makes Neutron clients: one with Roost's own credentials, and one for each user.

    :param hasty: fail at once rather than wait for a Neutron that hangs
    """

    def __init__(self, conf: cfg.ConfigOpts, *, hasty: bool = False) -> None:
        self._identity = ServiceSessions(conf, GROUP, hasty=hasty)
        self._own: Any = None

    def ours(self) -> Any:
        """Return the network proxy of openstacksdk with our own credentials.

        :raises roost.exception.Unavailable: when the options have no credentials, or Neutron does
            not answer
        """
        if self._own is None:
            session = self._identity.own_session()
            try:
                self._own = self._connected(session)
            except exception.Unavailable:
                session.invalidate()  # the catalog that came with our token may be outdated
                raise
        return self._own

    def of_user(self, context: RequestContext) -> Any:
        """Return the proxy with the user's token, or :meth:`ours` where the context has none.

        :raises roost.exception.Unavailable: when Neutron does not answer
        """
        if not context.auth_token:
            return self.ours()
        return self._connected(self._identity.user_session(context))

    def _connected(self, session: Session) -> Any:
        connection = self._identity.connection(session, "network")
        with translated_errors():  # it discovers the API versions
            network = connection.network
            network.get_endpoint  # noqa: B018 - raises if the catalog has no such service
        return network


@contextlib.contextmanager
def translated_errors() -> Iterator[None]:
    """Translate the exceptions of openstacksdk.

    :raises roost.exception.NotFound: when the resource does not exist
    :raises roost.exception.AddressInUse: for an address that another port has
    :raises roost.exception.NoCapacity: when a network has no address left
    :raises roost.exception.QuotaExceeded: when the project has reached its quota
    :raises Changed: when the resource has changed since it was read
    :raises roost.exception.Conflict: for any other conflict
    :raises roost.exception.Invalid: for requests that Neutron rejects
    :raises roost.exception.Forbidden: when Neutron does not permit the request
    :raises roost.exception.Unavailable: when Neutron does not answer, or answers with an error
    """
    import openstack.exceptions

    try:
        yield
    except openstack.exceptions.HttpException as error:
        raise _kind(error) from error
    except (openstack.exceptions.SDKException, keystone_errors.ClientException) as error:
        raise exception.Unavailable(f"The request to Neutron failed: {error}") from error


def _kind(error: Any) -> exception.RoostError:
    name, message = _said(error)
    status = error.status_code
    if status == _CONFLICT:
        return _CONFLICTS.get(name, exception.Conflict)(message)
    if status == _PRECONDITION:
        return Changed(message)
    if status in _KINDS:
        return _KINDS[status](message)
    return exception.Unavailable(f"Neutron answered {status}: {message}")


def _said(error: Any) -> tuple[str, str]:
    """Return the type and the message of Neutron's own error, if there is one."""
    said: Any = None
    with contextlib.suppress(AttributeError, ValueError):
        said = error.response.json().get("NeutronError")
    if not isinstance(said, dict):
        return "", str(said or error.details or error)
    return str(said.get("type", "")), str(said.get("message", error))


Connect = Callable[[], Any]


def named(ask: Callable[..., Iterable[Any]], by: str, ids: Collection[str]) -> list[Any]:
    """Return the resources of many ids from a list of openstacksdk, in batches.

    :param by: the list's keyword for these ids
    :raises roost.exception.RoostError: as :func:`translated_errors` does
    """
    wanted, found = sorted(ids), []
    for start in range(0, len(wanted), NAMED):
        with translated_errors():
            found += list(ask(**{by: wanted[start : start + NAMED]}))
    return found
