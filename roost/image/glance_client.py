"""Requests to Glance: with time-outs, Roost's exceptions, and data as streams."""

import hashlib
import io
import os
import time
from collections.abc import Iterator
from typing import Any, BinaryIO, Final, Protocol

import openstack.exceptions
import requests
import urllib3
from keystoneauth1 import exceptions as keystone_errors

from roost import exception

_CHUNK: Final = 1 << 20  # bytes
_KINDS: Final[dict[int, type[exception.RoostError]]] = {
    400: exception.Invalid,
    401: exception.Unauthenticated,
    403: exception.Forbidden,
    404: exception.NotFound,
    409: exception.Conflict,
    410: exception.NotFound,
    413: exception.QuotaExceeded,
    415: exception.Invalid,  # data that is not of the disk format
}
_REDIRECT: Final = 300
_VERSION: Final = "/v2/"


class Http(Protocol):
    """The part of the SDK's service proxy that is used here."""

    def request(self, url: str, method: str, **more: Any) -> requests.Response: ...


# The SDK's errors are only for the log: they contain URLs, and users may see the message.


def ask(http: Http, method: str, path: str, **more: Any) -> requests.Response:
    """Send Glance one request, and return a successful answer.

    :raises roost.exception.Unavailable: when there is no answer in time, the answer is not from
        Glance, or Glance is unavailable
    :raises roost.exception.RoostError: by the status of a refusal
    """
    try:
        answer = http.request(path, method, raise_exc=False, **more)
    except (
        keystone_errors.ClientException,
        openstack.exceptions.SDKException,
        requests.RequestException,
    ) as error:
        raise exception.Unavailable("Glance does not answer.", why=str(error)) from error
    if answer.status_code >= _REDIRECT or _VERSION not in answer.url:
        answer.close()
        raise _failure(answer)
    return answer


def json_of(answer: requests.Response) -> dict[str, Any]:
    """Return the JSON object of an answer.

    :raises roost.exception.Unavailable: when it is none, so the answer is not from Glance
    """
    try:
        found = answer.json()
    except ValueError as error:
        raise exception.Unavailable("Glance's answer is not JSON.") from error
    if not isinstance(found, dict):
        raise exception.Unavailable("Glance's answer is not a JSON object.")
    return found


def _failure(answer: requests.Response) -> exception.RoostError:
    status = answer.status_code
    if _VERSION not in answer.url:  # the SDK's fallback when version discovery fails
        return exception.Unavailable("Glance does not list its versions.", tried=answer.url)
    kind = _KINDS.get(status, exception.Unavailable)
    return kind(f"Glance answers {status} {answer.reason}.")


class Incoming(io.RawIOBase):
    """An image's data as it is downloaded, with a time-out.

    :param seconds: the limit in total; the session limits single waits
    """

    def __init__(self, answer: requests.Response, *, seconds: float) -> None:
        self._answer = answer
        self._deadline = time.monotonic() + seconds

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        _check_time(self._deadline, "The download from Glance took too long.")
        try:
            data = self._answer.raw.read(len(buffer))
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise exception.Unavailable(
                "The download from Glance broke off.", why=str(error)
            ) from error
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._answer.close()
        super().close()


class Outgoing:
    """An image's data as it is uploaded: read in chunks, counted and hashed.

    Its length is sent in advance where it is known, since not every server accepts chunked data.
    """

    algorithm: Final = "sha512"  # Glance's default

    def __init__(self, data: BinaryIO, *, seconds: float) -> None:
        self._data = data
        self._deadline = time.monotonic() + seconds
        self._digest = hashlib.new(self.algorithm)
        self.size = 0
        self.trouble: Exception | None = None  # of the data, not of Glance

    @property
    def hash_value(self) -> str:
        return self._digest.hexdigest()

    @property
    def len(self) -> int | None:
        """The Content-Length for requests; None: it sends chunks."""
        return _rest(self._data)

    def __iter__(self) -> Iterator[bytes]:
        while chunk := self._read():
            self._digest.update(chunk)
            self.size += len(chunk)
            yield chunk

    def _read(self) -> bytes:
        try:
            _check_time(self._deadline, "The upload to Glance took too long.")
            return self._data.read(_CHUNK)
        except Exception as error:
            self.trouble = error
            raise


def _check_time(deadline: float, message: str) -> None:
    if time.monotonic() > deadline:
        raise exception.Unavailable(message)


def _rest(data: BinaryIO) -> int | None:
    """Return how many bytes are still to be read; None: unknown."""
    try:
        here = data.tell()
        end = data.seek(0, os.SEEK_END)
        data.seek(here)
    except (OSError, AttributeError):
        return None
    return end - here
