"""One request on its way to a reply: what came, what was chosen to answer, and how that goes out.

Each part has one owner that fills it in, and everybody may read it.
"""

from __future__ import annotations

from asyncio import Transport
from dataclasses import dataclass, field
from hashlib import sha256
from time import perf_counter

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation
from fakeprovider.delivery.sender import SendTimes
from fakeprovider.errors import ApiError
from fakeprovider.faults import Answer, Plan
from fakeprovider.fitting.tool_mapping import Note
from fakeprovider.parsing.caches import KnownRequest
from fakeprovider.protocols.dialect import Dialect
from fakeprovider.scripts import Script
from fakeprovider.serving.asgi import Head
from fakeprovider.serving.routing import Route

_NOTE_LENGTH = 500  # characters of the header that says what was changed


@dataclass(slots=True)
class WireRequest:
    """What came over the wire; the application fills it in.

    `started` is Unix time. `clock` is when the request had come, by `time.perf_counter`; `complete`
    says whether its body did. `transport` is the connection under it, if it is in reach.
    """

    dialect: Dialect
    route: Route
    head: Head = field(default_factory=Head)
    method: str = "POST"
    path: str = ""
    started: float = 0.0
    transport: Transport | None = None
    body: bytes = b""
    complete: bool = False
    clock: float = field(default_factory=perf_counter)

    def ms(self) -> float:
        """Milliseconds since the request had come."""
        return round((perf_counter() - self.clock) * 1000, 3)


@dataclass(slots=True)
class ScriptChoice:
    """What was chosen to answer; the provider fills it in.

    `named` is the script that the path asks for, or the reply it goes on from; `script` is what
    answers, and `name` its name. `turn` is what it went by: None if it was not asked, because this
    is a side request of the kind `side`. `notes` say what was changed in the reply.
    """

    named: str = ""
    name: str = ""
    script: Script | None = None
    turn: int | None = None
    side: str = ""
    notes: list[Note] = field(default_factory=list)


@dataclass(slots=True)
class StrikingFault:
    """What goes wrong on purpose; the provider and the delivery fill it in.

    `possible` says whether a fault could strike at all, `plan` is the one that does. `attempt` is
    counted only where a fault needs it. `answer` is what was sent in place of a reply.
    """

    possible: bool = False
    plan: Plan | None = None
    attempt: int | None = None
    answer: Answer | None = None


@dataclass(slots=True)
class Sending:
    """How the reply goes out; the application fills it in.

    `started` says whether the head of the reply is out or about to be, `begun` whether anything of
    it went out, `cancelled` whether the client left before the end. `bodies` is what was sent, kept
    only where the journal wants bodies. `times` is set where the reply had a pace. `recorded` says
    whether the journal has the exchange.
    """

    started: bool = False
    begun: bool = True
    cancelled: bool = False
    bodies: list[bytes] = field(default_factory=list)
    times: SendTimes | None = None
    recorded: bool = False


@dataclass(slots=True)
class RequestContext:
    """A request, and what became of it so far.

    `known` is the request as it was read, with what was worked out for it before. `conversation` is
    there for every request that could be parsed, `completion` once a script has replied, `error`
    where the request is refused.
    """

    wire: WireRequest
    choice: ScriptChoice = field(default_factory=ScriptChoice)
    fault: StrikingFault = field(default_factory=StrikingFault)
    sending: Sending = field(default_factory=Sending)
    known: KnownRequest | None = None
    conversation: Conversation | None = None
    completion: Completion | None = None
    error: ApiError | None = None

    @property
    def run(self) -> str:
        """The run key, from the path or else from the header."""
        return self.wire.route.run or self.wire.head.run

    @property
    def request_id(self) -> str:
        """The id of the request, which follows from its bytes."""
        if self.conversation is not None:
            return f"req_{self.conversation.digest[:32]}"
        return f"req_{sha256(self.wire.body).hexdigest()[:32]}"

    @property
    def headers(self) -> tuple[tuple[str, str], ...]:
        """The service's headers, and one that says what was changed in the reply."""
        headers = self.wire.dialect.service_headers(self.request_id)
        notes = self.choice.notes
        if not notes:
            return headers
        text = "; ".join(f"{note.rule}: {note.detail}" for note in notes)
        ascii_text = "".join(char if " " <= char <= "~" else "?" for char in text)
        return (*headers, ("x-fakeprovider-note", ascii_text[:_NOTE_LENGTH]))
