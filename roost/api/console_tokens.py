"""Where the tokens in the URLs of consoles lead, for proxies of others."""

from typing import Final

from roost import consoles, exception
from roost.api.call import Answer, Call
from roost.api.parts import Parts
from roost.api.views import server_consoles as views
from roost.db import clock
from roost.db.api import console_tokens

_ALL_SINCE: Final = 31


class ConsoleTokens:
    """Handler of ``/os-console-auth-tokens``."""

    def __init__(self, parts: Parts) -> None:
        self._database = parts.api_database

    def show(self, call: Call) -> Answer:
        """Tell where a token leads. Until 2.30 only those of RDP were shown, and nobody has one.

        :raises roost.exception.Invalid: until 2.30
        :raises roost.exception.NotFound: when there is no such token, or no longer
        """
        if call.version < _ALL_SINCE:
            raise exception.Invalid(
                "Until 2.30 only the tokens of RDP consoles are shown, which no server here has."
            )
        digest = consoles.digest(call.params["console_token"])
        with self._database.read() as session:
            found = console_tokens.find(session, digest, now=clock.now(session))
        if found is None:
            raise exception.NotFound("Token not found")
        return Answer(views.connection(found, version=call.version))
