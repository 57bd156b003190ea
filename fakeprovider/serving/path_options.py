"""Path parameters: options that ride in a base URL, through any client.

`/runaway;turn_offset=2,turn_from=last_user/v1`: an unknown name is an error. A fault has its own
parameters, `/runaway;fault=rate_limited,turn=3,times=2/v1`; a further one stands in a further part,
`/runaway;fault=cut,turn=1;fault=overloaded,turn=2/v1`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from fakeprovider import pacing
from fakeprovider.conversation import Conversation
from fakeprovider.faults import NONE, BadFault, Chaos, Orders, Plan, plan
from fakeprovider.fitting.client_presets import PRESETS
from fakeprovider.replies import Pace

TurnFrom: TypeAlias = Literal["start", "last_user"]

OPTIONS = ("client", "turn_from", "turn_offset", *pacing.WORDS, "chaos", "seed")
"""The names of what is not a fault's."""


class BadParameter(ValueError):
    """A path parameter that is not known or has no such value; says what is allowed."""


@dataclass(frozen=True, slots=True)
class PathOptions:
    """Options of a base URL.

    `turn_from` says where turns count from: the `start` of the conversation, or the `last_user`
    message, for several tasks in one conversation. `turn_offset` turns are not counted: few-shot
    examples, or an assistant message that the client made up. `client` names a client preset.
    `pace` is how fast replies come, None for the script's own pace. `orders` are the faults.
    """

    turn_from: TurnFrom = "start"
    turn_offset: int = 0
    client: str = ""
    pace: Pace | None = None
    orders: Orders = NONE

    def view(self, conversation: Conversation) -> Conversation:
        """The conversation as the script is to see it."""
        if self.turn_from == "start" and self.turn_offset == 0:
            return conversation
        turn = conversation.turn
        if self.turn_from == "last_user":
            turn = conversation.since_last_user
        return replace(conversation, turn=max(0, turn - self.turn_offset))


NO_OPTIONS = PathOptions()
"""Those of a path that names none."""


def parse(text: str) -> PathOptions:
    """The options in `name=value,name=value;name=value`; raises `BadParameter`."""
    options: dict[str, str] = {}
    plans: list[Plan] = []
    try:
        for part in text.split(";"):
            words = _pairs(part, options)
            if "fault" in words:
                plans.append(plan(words.pop("fault"), words))
            elif words:
                raise _unknown(next(iter(words)))
        chosen = PathOptions(pace=pacing.read(options), orders=Orders(tuple(plans), chaos(options)))
    except (pacing.BadPace, BadFault) as error:
        raise BadParameter(str(error)) from None
    for name in ("turn_from", "turn_offset", "client"):
        if name in options:
            chosen = _set(chosen, name, options[name])
    return chosen


def _pairs(part: str, options: dict[str, str]) -> dict[str, str]:
    """The words of one part that are no options; those are added to `options`."""
    words: dict[str, str] = {}
    for pair in part.split(","):
        name, equals, value = pair.partition("=")
        if not equals:
            raise BadParameter(f"path parameter {pair!r} is not of the form name=value")
        if name in words or name in options:
            raise BadParameter(f"path parameter {name!r} is given twice")
        (options if name in OPTIONS else words)[name] = value
    return words


def _unknown(name: str) -> BadParameter:
    names = ", ".join(("fault", *OPTIONS))
    return BadParameter(f"unknown path parameter {name!r}; there are: {names}")


def chaos(words: Mapping[str, str]) -> Chaos | None:
    """The chaos that `chaos` and `seed` say; raises `BadFault`."""
    if "chaos" not in words:
        if "seed" in words:
            raise BadFault("seed needs chaos=SHARE beside it")
        return None
    try:
        share, seed = float(words["chaos"]), int(words.get("seed", "0"))
    except ValueError:
        pairs = ", ".join(f"{name}={words[name]!r}" for name in ("chaos", "seed") if name in words)
        raise BadFault(f"{pairs}: chaos must be 0 to 1, seed a whole number") from None
    return Chaos(share, seed)


def _set(chosen: PathOptions, name: str, value: str) -> PathOptions:
    if name == "turn_from":
        return replace(chosen, turn_from=_turn_from(value))
    if name == "turn_offset":
        return replace(chosen, turn_offset=_turn_offset(value))
    return replace(chosen, client=_client(value))


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
