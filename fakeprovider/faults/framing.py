"""Streams that say the same in other bytes: legal by the standard, and fatal to some parsers.

The standard: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fakeprovider.delivery.steps import Hold, Piece, Step
from fakeprovider.faults.kind import STREAM, Param, Scene
from fakeprovider.faults.registry import fault
from fakeprovider.protocols.dialect import Frame

_STANDARD = "https://html.spec.whatwg.org/multipage/server-sent-events.html"
_AT = Param("at", 2, "which event, counted from 0")
_COMMENTS = {
    "processing": b": PROCESSING\n\n",
    "bare": b":\n",
    "ping": b": ping\n",
    "ping_blank": b": ping\n\n",
    "retry": b"retry: 3000\n\n",
    "event": b"event: ping\n\n",
    "empty_data": b"data:\n\n",
}
_FORMS = ("all", *_COMMENTS, "inside", "after_id")


@fault(
    "comments",
    hook="stream",
    group="framing",
    line="Comments, pings, retry fields and empty events between the events.",
    source="brainlid/langchain#569, openai/openai-python#2722, theopenco/llmgateway#2334",
    params=(Param("form", "all", "which of them", _FORMS),),
    forms=STREAM,
)
def _comments(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    form = scene.values["form"]
    names = _FORMS[1:] if form == "all" else (form,)
    for number, frame in enumerate(frames):
        yield from _with_comment(frame, names[number % len(names)])


def _with_comment(frame: Frame, form: str) -> Iterator[Frame]:
    """The frame with noise before it, in it, or after it."""
    if form == "inside":
        yield frame._replace(data=b":x\n" + frame.data)
    elif form == "after_id":
        yield frame._replace(data=b"id: 7\n" + frame.data)
        yield Frame(b": ping\n\n")
    else:
        yield Frame(_COMMENTS[form])
        yield frame


@fault(
    "line_ends",
    hook="stream",
    group="framing",
    line="Lines that end in CRLF, or in CR alone.",
    source=_STANDARD,
    params=(Param("ends", "crlf", "which", ("crlf", "cr")),),
    forms=STREAM,
)
def _line_ends(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    end = b"\r\n" if scene.values["ends"] == "crlf" else b"\r"
    return (frame._replace(data=frame.data.replace(b"\n", end)) for frame in frames)


@fault(
    "no_space",
    hook="stream",
    group="framing",
    line="No space after `data:` and `event:`.",
    source=_STANDARD,
    forms=STREAM,
)
def _no_space(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    for frame in frames:
        data = frame.data.replace(b"event: ", b"event:", 1).replace(b"data: ", b"data:", 1)
        yield frame._replace(data=data)


@fault(
    "byte_order_mark",
    hook="stream",
    group="framing",
    line="A byte order mark before the first event.",
    source=_STANDARD,
    forms=STREAM,
)
def _mark(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    yield Frame(b"\xef\xbb\xbf")
    yield from frames


@fault(
    "split_writes",
    hook="steps",
    group="framing",
    line="Each event in several writes, cut anywhere, also inside characters.",
    source="mock-server/mockserver-monorepo#2641",
    params=(Param("bytes", 7, "bytes in a write", least=1),),
    forms=STREAM,
)
def _split(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    size = scene.values["bytes"]
    for step in steps:
        if not isinstance(step, Piece):
            yield step
            continue
        for at in range(0, len(step.data), size):
            yield step._replace(data=step.data[at : at + size], tokens=0 if at else step.tokens)
            yield Hold(0)  # lets the write go out by itself


@fault(
    "one_write",
    hook="steps",
    group="framing",
    line="All events in one write.",
    source="mock-server/mockserver-monorepo#2641",
    forms=STREAM,
)
def _glued(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    """All pieces in one write, when the last is due."""
    pieces: list[Piece] = []
    for step in steps:
        if isinstance(step, Piece):
            pieces.append(step)
        else:
            yield step
    if pieces:
        data = b"".join(piece.data for piece in pieces)
        yield Piece(data, pieces[-1].due, sum(piece.tokens for piece in pieces))


@fault(
    "event_repeated",
    hook="stream",
    group="framing",
    line="One event comes twice.",
    source="BerriAI/litellm#4168",
    params=(_AT,),
    forms=STREAM,
)
def _repeated(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    for number, frame in enumerate(frames):
        yield frame
        if number == scene.values["at"]:
            yield frame._replace(tokens=0)


@fault(
    "event_dropped",
    hook="stream",
    group="framing",
    line="One event is missing.",
    source="NousResearch/hermes-agent#72833",
    params=(_AT,),
    forms=STREAM,
)
def _dropped(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    return (frame for number, frame in enumerate(frames) if number != scene.values["at"])
