"""A recording as a script: each reply answers its own request, and no other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fakeprovider.conversation import Call, Conversation
from fakeprovider.errors import ApiError
from fakeprovider.recording.patterns import SlowPattern
from fakeprovider.recording.requests import (
    Request,
    Volatile,
    call_of,
    difference,
    key_of,
    request_of,
    shared,
    without_secrets,
)
from fakeprovider.replies import Reply
from fakeprovider.yamlscripts.nodes import Node, Problems
from fakeprovider.yamlscripts.speech import script_pace, speech


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
        places = {key_of(request): i for i, request in reversed(list(enumerate(masked)))}
        object.__setattr__(self, "_places", places)

    _masked: Sequence[Request] = field(init=False, repr=False, compare=False)
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)

    def __call__(self, conversation: Conversation) -> Reply:
        """The reply to this request; raises `ApiError`, naming the first message that differs."""
        try:
            sent = self.volatile.mask(without_secrets(request_of(conversation)))
        except SlowPattern as error:
            message = f"Script {self.name!r}, turn {conversation.turn}: volatile: {error}."
            raise ApiError(400, message, code="script_failed", retry=False) from None
        place = self._places.get(key_of(sent))
        if place is None:
            raise self._drifted(sent, conversation)
        return self.replies[place]

    def _drifted(self, sent: Request, conversation: Conversation) -> ApiError:
        """The error for an unknown request: how it differs from the nearest one."""
        place = max(
            range(len(self._masked)),
            key=lambda i: (shared(self._masked[i], sent), -_distance(self._masked[i], sent)),
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
    requests: list[Request] = []
    for exchange in written:
        request = dict(exchange["request"])
        before: Request = {"model": "", "tools": [], "messages": []}
        if "after" in exchange:
            before = requests[exchange["after"]]
            request["messages"] = [
                *before["messages"],
                message_of(replies[exchange["after"]]),
                *request["messages"],
            ]
        requests.append({**before, **request})
    return tuple(requests)


def recording(document: Node, name: str, problems: Problems) -> RecordedScript | None:
    """The recording in a document whose shape is right; None, with the problems noted."""
    before = len(problems.noted)
    written, exchanges = document.value, document.fields["recorded"].items
    replies: list[Reply] = []
    pace = script_pace(document, problems)
    for place, exchange in enumerate(exchanges):
        if exchange.value.get("after", -1) >= place:
            problems.add(exchange.key_lines["after"], f"this is exchange {place}: 'after' is less")
        try:
            # A recording says what was said: braces in it are no templates.
            replies.append(speech(exchange.value, pace, literally=True).sample)
        except ValueError as error:
            problems.add(exchange.line, str(error))
    if len(problems.noted) > before:
        return None
    try:
        return RecordedScript(
            name=written.get("name", name),
            description=written.get("description", ""),
            requests=whole_requests(written["recorded"], replies),
            replies=tuple(replies),
            volatile=Volatile.of(written.get("volatile", [])),
        )
    except SlowPattern as error:
        problems.add(document.key_lines["volatile"], str(error))
        return None


def message_of(reply: Reply) -> dict[str, Any]:
    """The assistant message by which a client gives a reply back."""
    message: dict[str, Any] = {"assistant": reply.text}
    if reply.calls:
        message["calls"] = [call_of(Call("", call.name, call.arguments)) for call in reply.calls]
    return message
