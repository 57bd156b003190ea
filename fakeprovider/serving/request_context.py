"""One request on its way to a reply, and the journal's record of it."""

from __future__ import annotations

from asyncio import Transport
from collections.abc import Iterable
from dataclasses import dataclass, field
from time import perf_counter

from msgspec.structs import replace

from fakeprovider.completion import Completion, Tally
from fakeprovider.conversation import Conversation, Violation
from fakeprovider.delivery.sender import Clocked
from fakeprovider.errors import ApiError
from fakeprovider.faults import Answer, Plan
from fakeprovider.fitting.tool_mapping import Note
from fakeprovider.journal import Exchange, Finding, Paced, Stretch, Usage, digest_of
from fakeprovider.parsing.caches import KnownRequest
from fakeprovider.protocols.dialect import Dialect
from fakeprovider.scripts import Script
from fakeprovider.serving.asgi import Head
from fakeprovider.serving.message_digest import called, heard
from fakeprovider.serving.message_digest import digest_of as text_digest
from fakeprovider.serving.routing import Route


@dataclass(slots=True)
class RequestContext:
    """What is known of a request so far; filled in as it goes.

    `started` is Unix time. `sent` is what was answered, kept only
    where the journal wants bodies. `known` is the request as it was read. `transport` is the
    connection under it, if it is in reach; `clocked` is set where the reply had a pace. `named` is
    the script that the path asks for, or the reply it goes on from; `chosen` what answers, whose
    name is `script`. `turn` is what that went by; None if it was not asked, because of `side`.
    `attempt` is counted only where a fault needs it, `struck` is the fault, `answer` what was sent
    in place of a reply.
    `begun` says whether any of the reply went out, `answering` whether its head is out or about to.
    `clock` is when the request had come, by `time.perf_counter`; `recorded` says whether the
    journal has it, `told` is what it has of a reply. `plain` says that no fault could have a say.
    """

    dialect: Dialect
    route: Route
    head: Head = field(default_factory=Head)
    method: str = "POST"
    path: str = ""
    started: float = 0.0
    body: bytes = b""
    read: bool = False
    named: str = ""
    script: str = ""
    chosen: Script | None = None
    known: KnownRequest | None = None
    conversation: Conversation | None = None
    completion: Completion | None = None
    error: ApiError | None = None
    answering: bool = False
    cancelled: bool = False
    sent: list[bytes] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    transport: Transport | None = None
    clocked: Clocked | None = None
    turn: int | None = None
    attempt: int | None = None
    side: str = ""
    struck: Plan | None = None
    answer: Answer | None = None
    begun: bool = True
    clock: float = 0.0
    recorded: bool = False
    told: Exchange | None = None
    plain: bool = True

    def ms(self) -> float:
        """Milliseconds since the request had come."""
        return round((perf_counter() - self.clock) * 1000, 3)

    @property
    def run(self) -> str:
        """The run key, from the path or else from the header."""
        return self.route.run or self.head.run

    @property
    def request_id(self) -> str:
        """The id of the request, which follows from its bytes."""
        digest = self.conversation.digest if self.conversation else digest_of(self.body)
        return f"req_{digest[:32]}"

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The service's headers, and one that says what was changed in the reply."""
        found = self.dialect.service_headers(self.request_id)
        if not self.notes:
            return found
        told = "; ".join(f"{note.rule}: {note.detail}" for note in self.notes)
        shown = "".join(one if " " <= one <= "~" else "?" for one in told)
        return (*found, ("x-fakeprovider-note", shown[:_HEADER_LENGTH]))

    def findings(self) -> tuple[Finding, ...]:
        """What is worth knowing: of the transcript, and of what was changed in the reply."""
        if self.conversation is None:
            return ()
        last = len(self.conversation.messages) - 1
        made = tuple(Finding(note.rule, last, note.detail) for note in self.notes)
        return _findings(self.conversation.notes) + made


_HEADER_LENGTH = 500


def exchange_of(context: RequestContext, *, bodies: bool = False) -> Exchange:
    """The journal's record of a request that is over."""
    error = context.error or context.answer
    return replace(
        _told(context, context.completion if error is None else None),
        run=context.run,
        script=context.script or context.route.script,
        attempt=context.head.attempt if context.attempt is None else context.attempt,
        protocol=context.dialect.name,
        method=context.method,
        path=context.path,
        status=_status(context),
        notes=context.findings(),
        fault=context.struck.kind.name if context.struck else "",
        retry_after=context.answer.retry_after if context.answer else None,
        broken=_broken(context),
        error=error.message if error else "",
        code=(context.error.code or "") if context.error else "",
        started=context.started,
        ms=context.ms(),
        cancelled=context.cancelled,
        retry_count=context.head.attempt if context.head.counts else None,
        side=context.side,
        paced=_paced(context.clocked) if context.clocked else None,
        request=context.body.decode(errors="replace") if bodies else None,
        response=b"".join(context.sent).decode(errors="replace") if bodies else None,
    )


def _told(context: RequestContext, completion: Completion | None) -> Exchange:
    """The part of a record that is about the request and the reply as such."""
    if context.known is not None:
        return context.known.tell(completion, _tell)
    if context.conversation is not None:
        return _tell(context.conversation, completion)
    return Exchange(digest=digest_of(context.body) if context.read else "")


def _tell(conversation: Conversation, completion: Completion | None) -> Exchange:
    history = conversation.history
    choices = conversation.options.get("n", 1)
    calls = completion.calls if completion else ()
    return Exchange(
        turn=conversation.position,
        stream=conversation.stream,
        model=conversation.model,
        digest=conversation.digest,
        violations=_findings(conversation.violations),
        heard=heard(conversation),
        head=Stretch(*history.head) if history else None,
        base=Stretch(*history.base) if history else None,
        offered=len(conversation.tools),
        tools=tuple(call.name for call in calls),
        said=len(completion.text.strip()) if completion else 0,
        text=text_digest(completion.text) if completion else "",
        calls=tuple(map(called, calls)),
        finish=completion.finish if completion else "",
        usage=_usage(completion.usage.times(choices)) if completion else None,
    )


def _status(context: RequestContext) -> int:
    """What stood on the status line; 0 if none was sent."""
    if not context.begun:
        return 0
    error = context.error or context.answer
    return error.status if error else 200


def _broken(context: RequestContext) -> bool:
    """Whether the client cannot have had the whole reply of the script."""
    cut = context.struck is not None and context.struck.kind.breaks
    return bool(context.error or context.answer or context.cancelled or cut)


def _usage(tally: Tally) -> Usage:
    return Usage(tally.prompt, tally.completion, tally.cached, tally.reasoning, tally.written)


def _paced(clocked: Clocked) -> Paced:
    return Paced(
        _milliseconds(clocked.asked_first),
        _milliseconds(clocked.first),
        round(clocked.asked_last * 1000, 3),
        round(clocked.last * 1000, 3),
    )


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _findings(violations: Iterable[Violation]) -> tuple[Finding, ...]:
    return tuple(Finding(one.rule, one.index, one.detail) for one in violations)
