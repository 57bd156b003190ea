"""What a script sees: the request in no provider's dialect.

Every dialect parses into this. A `Conversation` is immutable and holds the whole history; what it
derives (turn, results, ...) follows from the messages alone, never from anything kept between
requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, TypeAlias

from fakeprovider.errors import ApiError

Role: TypeAlias = Literal["system", "user", "assistant", "tool"]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call that the model made earlier; `arguments` is the string as it was sent."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the history.

    `developer` is `system`; text parts are joined with a newline. A tool result has `call_id`, and
    `tool`, the name of the call it answers ("" if there is no such call). `beside_results` marks
    user text that came in one wire message with tool results (Messages dialect): it does not open
    a new user turn. `images` counts image parts, `searches` what the service searched
    in a turn; `thought` says whether the turn came with its thinking.
    """

    role: Role
    text: str = ""
    calls: tuple[Call, ...] = ()
    call_id: str = ""
    tool: str = ""
    is_error: bool = False
    beside_results: bool = False
    images: int = 0
    searches: int = 0
    thought: bool = False

    @property
    def opens_turn(self) -> bool:
        """Whether this is the user speaking, not tools answering."""
        return self.role == "user" and not self.beside_results


@dataclass(frozen=True, slots=True)
class Offered:
    """A tool that the client offers; `parameters` is its JSON Schema, None if it gave none."""

    name: str
    description: str | None = None
    parameters: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """What a tool answered to a call of the last assistant turn."""

    tool: str
    text: str
    call_id: str
    is_error: bool = False


NOWHERE = -1
"""The index of what is in no message."""


@dataclass(frozen=True, slots=True)
class Violation:
    """Something in the transcript that a real service refuses, or that is worth a note.

    `rule` is its name in the strict table, `index` the offending wire message (0-based),
    `detail` the sentence that says what is wrong. What is wrong with the request beside its
    messages has the index `NOWHERE`, and the path of the field in `where`.
    """

    rule: str
    index: int
    detail: str
    where: str = ""


MASK = 2**64 - 1
"""Fingerprints of messages have 64 bits."""
_FACTOR = 0x9E3779B97F4A7C15  # odd, so that no message drops out of the product


class Trail(NamedTuple):
    """Messages up to a point: how many, their fingerprint in order, and in any order.

    So a history that was shortened, reordered or rewritten can be told from one that grew.
    """

    length: int = 0
    chain: int = 0
    total: int = 0

    def then(self, mark: int) -> Trail:
        """The trail with one more message."""
        return Trail(
            self.length + 1,
            ((self.chain + mark) * _FACTOR) & MASK,
            (self.total + mark) & MASK,
        )


START = Trail()


class History(NamedTuple):
    """The whole transcript of a request, and what stood before its last assistant turn.

    Where a harness only ever appends, `base` is the `head` of the request that was answered with
    that turn.
    """

    head: Trail = START
    base: Trail = START


def mark(message: Message) -> int:
    """The fingerprint of one message: what it says, calls and answers, not how it was written."""
    parts = [message.role, message.text, message.call_id]
    for call in message.calls:
        parts += (call.id, call.name, call.arguments)
    data = "\x1f".join(parts).encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole request. Token figures follow the `wire` rule.

    `turn` is what the script goes by: 0 before the model has said anything, then
    max(assistant turns, highest own call id + 1), less what `turn_from` and `turn_offset` take
    off. `position` is the same before that: ids of a reply follow from it. `max_output` is the
    client's cap on output tokens. `sent_before` are the tokens at the head of the prompt that the
    request before this one had sent. `violations` were let through (lenient), `notes` always are.
    `history` are fingerprints of the messages, None where the request does not hold them all.
    `options` holds what else the dialect's request said about the form of the answer, `digest` is
    the sha256 of the request body, in hex.
    """

    model: str
    messages: tuple[Message, ...]
    tools: tuple[Offered, ...] = ()
    turn: int = 0
    position: int = 0
    prompt_tokens: int = 0
    max_output: int | None = None
    stream: bool = False
    violations: tuple[Violation, ...] = ()
    notes: tuple[Violation, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    sent_before: int = 0
    history: History | None = None
    digest: str = ""

    @property
    def since_last_user(self) -> int:
        """Assistant turns since the user last spoke."""
        return sum(1 for message in self._tail() if message.role == "assistant")

    @property
    def user_messages(self) -> tuple[str, ...]:
        """What the user said, in order."""
        return tuple(message.text for message in self.messages if message.opens_turn)

    @property
    def results(self) -> tuple[Result, ...]:
        """Tool results after the last assistant turn; none once the user has spoken again."""
        results = []
        for message in reversed(self.messages):
            if message.role == "assistant" or message.opens_turn:
                break
            if message.role == "tool":
                results.append(_result(message))
        return tuple(reversed(results))

    @property
    def last_result(self) -> Result | None:
        """The last of `results`, if there is one."""
        results = self.results
        return results[-1] if results else None

    @property
    def system_text(self) -> str:
        """All system and developer text, joined with newlines."""
        return "\n".join(message.text for message in self.messages if message.role == "system")

    def offers(self, name: str) -> bool:
        """Whether the client offers a tool of this name."""
        return any(tool.name == name for tool in self.tools)

    def seen(self, text: str) -> bool:
        """Whether any message, of any role, contains `text`."""
        return any(text in message.text for message in self.messages)

    def _tail(self) -> Iterator[Message]:
        for message in reversed(self.messages):
            if message.opens_turn:
                return
            yield message


def _result(message: Message) -> Result:
    return Result(message.tool, message.text, message.call_id, message.is_error)


@dataclass(frozen=True, slots=True)
class ContinuedConversation(Conversation):
    """A conversation whose `messages` start after an earlier response.

    Turn, results and token counts are right. What only earlier text can tell raises `ApiError`;
    `system_text` is that of this request, as in the real service, where instructions are not
    carried over. `earlier_turns` counts turns since the user last spoke before this request.
    """

    earlier_turns: int = 0

    @property
    def since_last_user(self) -> int:
        """Assistant turns since the user last spoke."""
        here: int = Conversation.since_last_user.__get__(self)
        spoke = any(message.opens_turn for message in self.messages)
        return here if spoke else here + self.earlier_turns

    @property
    def user_messages(self) -> tuple[str, ...]:
        """Never complete here: raises `ApiError`."""
        raise _needs_earlier_text("the user's messages")

    def seen(self, text: str) -> bool:
        """Whether a message of this request contains `text`; raises `ApiError` if none does."""
        if Conversation.seen(self, text):
            return True
        raise _needs_earlier_text("the text")


def _needs_earlier_text(what: str) -> ApiError:
    return ApiError(
        400,
        f"The script needs {what} of earlier turns, which the request does not hold: this server "
        "keeps nothing between requests, and `previous_response_id` carries turns, pending calls "
        "and token counts, but no text. Send the whole history (`store: false`) for this script.",
        param="previous_response_id",
        code="earlier_text_needed",
        retry=False,
    )
