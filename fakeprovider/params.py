"""Path parameters: options that ride in a base URL, through any client.

`/runaway;turn_offset=2,turn_from=last_user/v1`: names are reserved, an unknown one is an error.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from fakeprovider import pacing
from fakeprovider.conversation import Conversation
from fakeprovider.presets import PRESETS
from fakeprovider.replies import Pace

TurnFrom: TypeAlias = Literal["start", "last_user"]

RESERVED = ("fault", "turn", "times", "chaos", "seed")
"""Names that other options will have; refused until then rather than ignored."""


class BadParameter(ValueError):
    """A path parameter that is not known or has no such value; says what is allowed."""


@dataclass(frozen=True, slots=True)
class Params:
    """Options of a base URL.

    `turn_from` says where turns count from: the `start` of the conversation, or the `last_user`
    message, for several tasks in one conversation. `turn_offset` turns are not counted: few-shot
    examples, or an assistant message that the client made up. `client` names a client preset.
    `pace` is how fast replies come, None for the script's own pace.
    """

    turn_from: TurnFrom = "start"
    turn_offset: int = 0
    client: str = ""
    pace: Pace | None = None

    def view(self, conversation: Conversation) -> Conversation:
        """The conversation as the script is to see it."""
        if self.turn_from == "start" and self.turn_offset == 0:
            return conversation
        turn = conversation.turn
        if self.turn_from == "last_user":
            turn = conversation.since_last_user
        return replace(conversation, turn=max(0, turn - self.turn_offset))


def parse(text: str) -> Params:
    """Params from `name=value,name=value`; raises `BadParameter`."""
    found: dict[str, str] = {}
    for pair in text.split(","):
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadParameter(f"path parameter {pair!r} is not of the form name=value")
        if name in found:
            raise BadParameter(f"path parameter {name!r} is given twice")
        found[name] = value
    try:
        params = Params(pace=pacing.read(found))
    except pacing.BadPace as error:
        raise BadParameter(str(error)) from None
    for name, value in found.items():
        if name not in pacing.WORDS:
            params = _set(params, name, value)
    return params


def _set(params: Params, name: str, value: str) -> Params:
    if name == "turn_from":
        return replace(params, turn_from=_turn_from(value))
    if name == "turn_offset":
        return replace(params, turn_offset=_turn_offset(value))
    if name == "client":
        return replace(params, client=_client(value))
    if name in RESERVED:
        raise BadParameter(f"path parameter {name!r} is reserved and does nothing yet")
    known = ", ".join(("client", "turn_from", "turn_offset", *pacing.WORDS))
    raise BadParameter(f"unknown path parameter {name!r}; there are: {known}")


def _client(value: str) -> str:
    if value in PRESETS:
        return value
    raise BadParameter(f"client={value!r}: must be one of {', '.join(PRESETS)}")


def _turn_from(value: str) -> TurnFrom:
    if value == "start":
        return "start"
    if value == "last_user":
        return "last_user"
    raise BadParameter(f"turn_from={value!r}: must be start or last_user")


def _turn_offset(value: str) -> int:
    if value.isascii() and value.isdigit() and len(value) < 10:
        return int(value)
    raise BadParameter(f"turn_offset={value!r}: must be a whole number, 0 or more")
