"""The data of an upload: read as it comes, never more than may come, and whole."""

import io
from typing import Any

import falcon

from roost import exception


class Upload(io.RawIOBase):
    """What a request sends, as a file to read once.

    :param length: bytes that the request says it has; None: the stream tells where it ends
    :param most: bytes that it may have
    """

    def __init__(self, stream: Any, *, length: int | None, most: int) -> None:
        super().__init__()
        self._stream = stream
        self._length = length
        self._most = most
        self._read = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Return some bytes; none at the end.

        :raises falcon.HTTPContentTooLarge: when there are more than may be
        :raises roost.exception.Invalid: when there are fewer than the request said
        """
        try:
            data = bytes(self._stream.read(size))
        except (OSError, ValueError) as error:
            raise exception.Invalid("The data broke off, or came too slowly.") from error
        self._read += len(data)
        if self._read > self._most:
            raise falcon.HTTPContentTooLarge(
                description=f"An image has {self._most} bytes at most."
            )
        if not data and size and self._length is not None and self._read < self._length:
            raise exception.Invalid(
                f"The data broke off after {self._read} of {self._length} bytes."
            )
        return data
