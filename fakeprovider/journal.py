"""The journal: every exchange the provider had, kept in a ring and, if asked for, in a file.

This module is its schema, what fills it in, its writer and its reader. A new field of an exchange
stands in `Exchange`, and is filled in `exchange_of` (if it is about the request on its way) or in
`_described` (if it follows from conversation and reply alone).
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from hashlib import blake2b, sha256
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

import msgspec

from fakeprovider.journal_file import JournalFile

if TYPE_CHECKING:
    from fakeprovider.completion import Completion
    from fakeprovider.conversation import Call, Conversation, Message, Violation
    from fakeprovider.serving.request_context import RequestContext

MIB = 1 << 20


class Usage(msgspec.Struct, frozen=True):
    """Tokens as they were reported; `prompt_tokens` includes those read from or put in a cache."""

    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int = 0
    reasoning_tokens: int = 0
    cache_write_tokens: int = 0


class Finding(msgspec.Struct, frozen=True):
    """A rule of the strict table that the request breaks, and the index of the message.

    The index is -1 where it is in none of them.
    """

    rule: str
    index: int
    detail: str


class Called(msgspec.Struct, frozen=True):
    """A call in a reply, or in a transcript.

    `arguments` is a digest of them in canonical form (keys sorted), so that equal ones are equal;
    `valid` says whether they are a JSON object.
    """

    id: str
    name: str
    arguments: str
    valid: bool = True


class Heard(msgspec.Struct, frozen=True, omit_defaults=True):
    """A message of the transcript that is new since the last reply, in short.

    `text` is a digest; of a tool result the first 200 characters are `excerpt`.
    """

    role: str
    text: str = ""
    length: int = 0
    calls: tuple[Called, ...] = ()
    call_id: str = ""
    excerpt: str = ""
    is_error: bool = False
    opens: bool = False


class Stretch(msgspec.Struct, frozen=True, array_like=True):
    """Fingerprints of messages: how many, in order, in any order."""

    length: int
    chain: int
    total: int


class Paced(msgspec.Struct, frozen=True):
    """When the first token and the last were asked to go out, and when they did.

    Milliseconds from when the reply was ready; those of the first token are None if there is none.
    """

    asked_first_ms: float | None
    first_ms: float | None
    asked_last_ms: float
    last_ms: float


class Exchange(msgspec.Struct, frozen=True, kw_only=True):
    """One request and what was answered.

    `number` counts from 1 in the order of completion. `started` is Unix time in seconds, `ms` the
    time from the request's last byte to the reply's last. `attempt` is the client's own retry
    count (0 for a first attempt). `digest` is the sha256 of the request body, "" if it was
    refused unread. `tools` are the names called in the reply. `violations` were let through by a
    lenient server or are what a strict one refused; `notes` are worth knowing and never refused.
    `error` is the message of an error reply, `code` its code where no fault made it. `cancelled`
    means that the client left before the end. `fault` names what went wrong on purpose,
    `retry_after` is the wait in seconds that it told; `broken` means that the client cannot have
    had the whole reply. `status` is 0 where no status line was sent. `paced` is there
    where the reply had a pace.

    `said` counts the characters of the reply's text, white space around it left out; `text` is a
    digest of it, `calls` are its calls. `heard` is the last assistant turn of the transcript and
    what follows it (at the start everything): what was new to the provider. `head` are fingerprints
    of the whole transcript, `base` of what stood before its last assistant turn. `retry_count` is
    the client's own count, None if it sends none. `side` is the kind of side request, `offered` how
    many tools were offered. All of this is always there; bodies only if asked for.
    """

    number: int = 0
    run: str = ""
    script: str = ""
    turn: int | None = None
    attempt: int = 0
    protocol: str = ""
    method: str = "POST"
    path: str = ""
    stream: bool = False
    status: int = 200
    model: str = ""
    digest: str = ""
    tools: tuple[str, ...] = ()
    finish: str = ""
    usage: Usage | None = None
    violations: tuple[Finding, ...] = ()
    notes: tuple[Finding, ...] = ()
    fault: str = ""
    retry_after: float | None = None
    broken: bool = False
    error: str = ""
    code: str = ""
    started: float = 0.0
    ms: float = 0.0
    cancelled: bool = False
    paced: Paced | None = None
    said: int = 0
    text: str = ""
    calls: tuple[Called, ...] = ()
    heard: tuple[Heard, ...] = ()
    head: Stretch | None = None
    base: Stretch | None = None
    retry_count: int | None = None
    side: str = ""
    offered: int = 0
    request: str | None = None
    response: str | None = None

    @property
    def size(self) -> int:
        """Bytes of memory, near enough for a bound."""
        parts = len(self.calls) + len(self.heard) + len(self.tools)
        parts += len(self.violations) + len(self.notes)
        texts = len(self.model) + len(self.path) + len(self.run) + len(self.error)
        return 1000 + 400 * parts + texts + len(self.request or "") + len(self.response or "")

    def __repr__(self) -> str:
        """In short, a line: what a failing assertion can show of many."""
        turn = "" if self.turn is None else f" turn {self.turn}"
        what = ",".join(self.tools) or self.finish
        words = [f"<Exchange #{self.number}{turn} {self.status}", what, self.fault, self.side]
        if self.usage is not None:
            words.append(f"{self.usage.prompt_tokens}→{self.usage.completion_tokens} tokens")
        return " ".join(word for word in words if word) + ">"


def exchange_of(request: RequestContext, *, bodies: bool = False) -> Exchange:
    """The journal's record of a request that was answered, or was refused, or whose client left."""
    wire, choice, fault, sending = request.wire, request.choice, request.fault, request.sending
    error = request.error or fault.answer
    completion = request.completion if error is None else None
    return msgspec.structs.replace(
        _description(request, completion),
        run=request.run,
        script=choice.name or wire.route.script,
        attempt=wire.head.attempt if fault.attempt is None else fault.attempt,
        protocol=wire.dialect.name,
        method=wire.method,
        path=wire.path,
        status=(error.status if error else 200) if sending.begun else 0,
        notes=_notes(request),
        fault=fault.plan.kind.name if fault.plan else "",
        retry_after=fault.answer.retry_after if fault.answer else None,
        broken=bool(error or sending.cancelled or (fault.plan and fault.plan.kind.breaks)),
        error=error.message if error else "",
        code=(request.error.code or "") if request.error else "",
        started=wire.started,
        ms=wire.ms(),
        cancelled=sending.cancelled,
        retry_count=wire.head.attempt if wire.head.counts else None,
        side=choice.side,
        paced=Paced(*sending.times.in_ms()) if sending.times else None,
        request=wire.body.decode(errors="replace") if bodies else None,
        response=b"".join(sending.bodies).decode(errors="replace") if bodies else None,
    )


def _description(request: RequestContext, completion: Completion | None) -> Exchange:
    """The part of a record that follows from the request and the reply alone."""
    if request.known is not None:
        return request.known.describe(completion, _described)
    if request.conversation is not None:
        return _described(request.conversation, completion)
    return Exchange(digest=sha256(request.wire.body).hexdigest() if request.wire.complete else "")


def _described(conversation: Conversation, completion: Completion | None) -> Exchange:
    history = conversation.history
    calls = completion.calls if completion else ()
    usage = completion.usage.times(conversation.options.get("n", 1)) if completion else None
    return Exchange(
        turn=conversation.position,
        stream=conversation.stream,
        model=conversation.model,
        digest=conversation.digest,
        violations=_findings(conversation.violations),
        heard=_heard(conversation),
        head=Stretch(*history.head) if history else None,
        base=Stretch(*history.base) if history else None,
        offered=len(conversation.tools),
        tools=tuple(call.name for call in calls),
        said=len(completion.text.strip()) if completion else 0,
        text=_text_digest(completion.text) if completion else "",
        calls=tuple(map(_called, calls)),
        finish=completion.finish if completion else "",
        usage=Usage(usage.prompt, usage.completion, usage.cached, usage.reasoning, usage.written)
        if usage
        else None,
    )


def _notes(request: RequestContext) -> tuple[Finding, ...]:
    """What is worth knowing: of the transcript, and of what was changed in the reply."""
    if request.conversation is None:
        return ()
    last = len(request.conversation.messages) - 1
    changes = tuple(Finding(note.rule, last, note.detail) for note in request.choice.notes)
    return _findings(request.conversation.notes) + changes


def _findings(violations: Iterable[Violation]) -> tuple[Finding, ...]:
    return tuple(Finding(flaw.rule, flaw.index, flaw.detail) for flaw in violations)


_EXCERPT = 200  # characters of a tool result
_MOST_HEARD = 200  # messages; a first request may bring a whole library of examples
_SHORT_ARGUMENTS = 4096  # characters of arguments whose digest is worth remembering


def _heard(conversation: Conversation) -> tuple[Heard, ...]:
    """The last assistant turn and everything after it; at the start, everything."""
    newest: list[Heard] = []
    for message in reversed(conversation.messages):
        newest.append(_in_short(message))
        if message.role == "assistant" or len(newest) == _MOST_HEARD:
            break
    return tuple(reversed(newest))


def _in_short(message: Message) -> Heard:
    return Heard(
        message.role,
        _text_digest(message.text),
        len(message.text),
        tuple(map(_called, message.calls)),
        message.call_id,
        message.text[:_EXCERPT] if message.role == "tool" else "",
        message.is_error,
        message.opens_turn,
    )


def _called(call: Call) -> Called:
    digest_arguments = _remembered if len(call.arguments) <= _SHORT_ARGUMENTS else _canonical
    return Called(call.id, call.name, *digest_arguments(call.arguments))


def _text_digest(text: str) -> str:
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _canonical(arguments: str) -> tuple[str, bool]:
    """The digest of arguments with keys sorted, and whether they are a JSON object."""
    try:
        value = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return _text_digest(arguments), False
    return _text_digest(json.dumps(value, sort_keys=True)), isinstance(value, dict)


_remembered = lru_cache(maxsize=1024)(_canonical)


_DECODER = msgspec.json.Decoder(Exchange)
_encode = msgspec.json.Encoder().encode


class Journal:
    """The last exchanges, at most `keep` of them and `limit` bytes; safe to read from any thread.

    `path` is a file that each exchange is appended to as a line of JSON, flushed at once; one that
    cannot be written any more is given up, which is logged.
    `bodies` keeps what was sent and received. `watch` is called with each exchange.
    """

    def __init__(
        self,
        path: Path | str | None = None,
        *,
        keep: int = 10_000,
        limit: int = 64 * MIB,
        bodies: bool = False,
        watch: Callable[[Exchange], None] | None = None,
    ) -> None:
        self.bodies = bodies
        self._watch = watch
        self._ring: deque[Exchange] = deque()
        self._keep = keep
        self._limit = limit
        self._size = 0
        self._count = 0
        self._lock = Lock()
        self._file = JournalFile(Path(path)) if path else None

    def write(self, exchange: Exchange, **changes: Any) -> Exchange:
        """Add an exchange, with `changes` to its fields; returns it with its number."""
        with self._lock:
            self._count += 1
            exchange = msgspec.structs.replace(exchange, number=self._count, **changes)
            self._ring.append(exchange)
            self._size += exchange.size
            while len(self._ring) > self._keep or self._size > self._limit:
                self._size -= self._ring.popleft().size
            if self._file is not None:
                self._file.append(_encode(exchange), exchange.number)
        if self._watch is not None:
            self._watch(exchange)
        return exchange

    def exchanges(self, run: str | None = None) -> list[Exchange]:
        """The exchanges in memory, oldest first; those of one run if `run` is given."""
        with self._lock:
            exchanges = list(self._ring)
        return [exchange for exchange in exchanges if run in (None, exchange.run)]

    def clear(self, run: str | None = None) -> int:
        """Forget the exchanges in memory, or those of one run; returns how many."""
        with self._lock:
            kept = (
                [] if run is None else [exchange for exchange in self._ring if exchange.run != run]
            )
            forgotten = len(self._ring) - len(kept)
            self._ring = deque(kept)
            self._size = sum(exchange.size for exchange in kept)
        return forgotten

    def close(self) -> None:
        """Close the file, if there is one."""
        with self._lock:
            if self._file is not None:
                self._file.close()


def to_json(exchanges: list[Exchange]) -> bytes:
    """`{"exchanges": [...]}`."""
    return _encode({"exchanges": exchanges})


def read(path: Path | str) -> list[Exchange]:
    """The exchanges in a journal file, up to the last whole line of one that was cut off."""
    lines = Path(path).read_bytes().split(b"\n")[:-1]
    return [_DECODER.decode(line) for line in lines if line]
