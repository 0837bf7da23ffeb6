"""Tokens that open consoles."""

from typing import Final

from roost.api.console_tokens import ConsoleTokens
from roost.api.policies import console_tokens as policies
from roost.api.route import Route, row

ROUTES: Final[tuple[Route, ...]] = (
    row(
        "GET /v2.1/os-console-auth-tokens/{console_token}",
        (ConsoleTokens, ConsoleTokens.show),
        policies.SHOW,
    ),
)
