"""What a dialect is: one wire protocol as an object, and the registry of all there are.

The rest of the provider names no dialect. It asks the object: to read a request, to write a reply,
and for the facts below. Each dialect registers itself where it is defined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, Protocol, TypeAlias

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation, Violation
from fakeprovider.errors import ApiError
from fakeprovider.parsing.caches import RequestCaches
from fakeprovider.protocols.answers import NotAnAnswer, Written
from fakeprovider.registry import Registry

Headers: TypeAlias = tuple[tuple[str, str], ...]

Shape: TypeAlias = Literal["choices", "blocks", "items"]
"""How a reply is built: of `choices` with a message, of content `blocks`, or of output `items`."""

CREATED = 1_700_000_000
"""The time stamp of every reply, in Unix seconds: identical requests get identical bytes."""

CREATED_TEXT = "2023-11-14T22:13:20Z"
"""The same as RFC 3339."""


class Frame(NamedTuple):
    """One event of a stream, as bytes, and how many output tokens it carries (for pacing)."""

    data: bytes
    tokens: int = 0


class TokenNames(NamedTuple):
    """What a usage object calls the tokens in, the tokens out and their sum, if it has that."""

    prompt: str
    completion: str
    total: str | None


class Parse(Protocol):
    """Reads a request body; raises `ApiError`."""

    def __call__(self, body: bytes, caches: RequestCaches, model: str = "") -> Conversation:
        """`model` is the path's, for a body that names none (Azure's deployments)."""


Recount: TypeAlias = Callable[[Conversation], Conversation]
"""Gives a conversation the prompt tokens of the counting rule in force."""

Aside: TypeAlias = Callable[[bytes, RequestCaches, str, Recount], tuple[Conversation | None, bytes]]
"""Answers a request body that no script is asked about, with the conversation if there is one."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Dialect:
    """One wire protocol.

    `name` is its name in the journal; `vendor` is
    whose service speaks it. It answers replies at `paths` and what needs no script at `asides`,
    both below a base URL that ends in `/v1` or not. Only its clients send `client_header` (None: it
    has no such header). `position_field` is where an event says which part of the reply it belongs
    to (None: in the deltas of each call). `says_finish` tells whether a reply names its reason to
    end even where nothing cut it short.
    """

    name: str
    vendor: str
    shape: Shape
    paths: tuple[str, ...]
    token_names: TokenNames
    requests_left_header: str
    refused: frozenset[str]
    """The flaws of a transcript that the service refuses."""
    noted: frozenset[str]
    """The flaws that are accepted with a note in the journal."""
    parse: Parse
    """The conversation in a request body."""
    refuse: Callable[[Violation], ApiError]
    """The error of the real service for a broken transcript, naming the message."""
    render_whole: Callable[[Conversation, Completion], bytes]
    """The body of a reply that is not streamed."""
    render_stream: Callable[[Conversation, Completion], Iterator[Frame]]
    """The events of a streamed reply, to the last."""
    render_error: Callable[[ApiError], bytes]
    """The body of an error reply."""
    render_stream_error: Callable[[str, str, int], Frame]
    """An error event after the 200, from kind, message and the number of events before it."""
    context_exceeded: Callable[[int, int], ApiError]
    """The error for a prompt of so many tokens where the context has only so many."""
    render_models: Callable[[tuple[str, ...]], bytes]
    """The body of the list of models."""
    render_model: Callable[[str], bytes]
    """The body of one model."""
    read_whole: Callable[[bytes], Written]
    """The reply in a body that is not streamed; raises `NotAnAnswer`."""
    read_stream: Callable[[bytes], Written]
    """The reply that the events add up to; raises `NotAnAnswer`."""
    service_headers: Callable[[str], Headers]
    """The headers of every reply to the request with this id: the id and the rate limits."""
    asides: Mapping[str, Aside] = field(default_factory=dict)
    client_header: str | None = None
    position_field: str | None = None
    says_finish: bool = True


DIALECTS: Registry[Dialect] = Registry(
    "dialect",
    tuple(f"fakeprovider.protocols.{name}.dialect" for name in ("chat", "messages", "responses")),
)
"""All dialects by name. The first one answers a client that does not show which it speaks."""


def by_endpoint() -> dict[str, Dialect]:
    """Which dialect answers each path, those of replies first."""
    replies = {path: dialect for dialect in DIALECTS.values() for path in dialect.paths}
    return replies | {path: dialect for dialect in DIALECTS.values() for path in dialect.asides}


def read_answer(body: bytes, *, streamed: bool, dialect: str = "chat") -> Written:
    """The reply in a response body of a dialect; raises `NotAnAnswer`."""
    spoken = DIALECTS[dialect]
    try:
        return spoken.read_stream(body) if streamed else spoken.read_whole(body)
    except NotAnAnswer:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise NotAnAnswer(f"{type(error).__name__}: {error}") from error
