"""A recording as a script: each reply answers its own request, and no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakeprovider.conversation import Call, Conversation
from fakeprovider.errors import ApiError
from fakeprovider.recording.proxy import without_secrets
from fakeprovider.recording.requests import (
    Request,
    Volatile,
    call_of,
    difference,
    key_of,
    request_of,
    shared,
)
from fakeprovider.replies import Reply
from fakeprovider.yamlscripts.conditions import SlowPattern


@dataclass(frozen=True)
class RecordedScript:
    """A script whose replies are found by the whole request, less what is volatile.

    Raises `SlowPattern` if a volatile pattern takes too long on what was recorded.
    """

    name: str
    description: str
    requests: tuple[Request, ...] = field(repr=False)
    replies: tuple[Reply, ...] = field(repr=False)
    volatile: Volatile = field(default_factory=Volatile)

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.description)
        masked = tuple(map(self.volatile.mask, self.requests))
        object.__setattr__(self, "_masked", masked)
        # Of equal requests the first one counts: the same request gets the same reply.
        places = {key_of(one): place for place, one in reversed(list(enumerate(masked)))}
        object.__setattr__(self, "_places", places)

    _masked: Sequence[Request] = field(init=False, repr=False, compare=False)
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __call__(self, conversation: Conversation) -> Reply:
        """The reply to this request; raises `ApiError`, naming the first message that differs."""
        try:
            sent = self.volatile.mask(without_secrets(request_of(conversation)))
        except SlowPattern as error:
            told = f"Script {self.name!r}, turn {conversation.turn}: volatile: {error}."
            raise ApiError(400, told, code="script_failed", retry=False) from None
        place = self._places.get(key_of(sent))
        if place is None:
            raise self._drifted(sent, conversation)
        return self.replies[place]

    def _drifted(self, sent: Request, conversation: Conversation) -> ApiError:
        place = max(
            range(len(self._masked)),
            key=lambda one: (shared(self._masked[one], sent), -_distance(self._masked[one], sent)),
        )
        message = (
            f"Script {self.name!r}, turn {conversation.turn}: no recorded request is this one; "
            f"nearest is exchange {place}: {difference(self._masked[place], sent)}."
        )
        return ApiError(400, message, code="recording_drifted", retry=False)


def _distance(recorded: Request, sent: Request) -> int:
    return abs(len(recorded["messages"]) - len(sent["messages"]))


def whole_requests(
    written: Sequence[Mapping[str, Any]], replies: Sequence[Reply]
) -> tuple[Request, ...]:
    """The requests of all exchanges, those that go on from another one spelled out."""
    found: list[Request] = []
    for exchange in written:
        request = dict(exchange["request"])
        before: Request = {"model": "", "tools": [], "messages": []}
        if "after" in exchange:
            before = found[exchange["after"]]
            request["messages"] = [
                *before["messages"],
                message_of(replies[exchange["after"]]),
                *request["messages"],
            ]
        found.append({**before, **request})
    return tuple(found)


def message_of(reply: Reply) -> dict[str, Any]:
    """The assistant message by which a client gives a reply back."""
    told: dict[str, Any] = {"assistant": reply.text}
    if reply.calls:
        told["calls"] = [call_of(Call("", one.name, one.arguments)) for one in reply.calls]
    return told
