"""Streams that say the same in other bytes: legal by the standard, and fatal to some parsers.

The standard: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from fakeprovider.delivery.steps import Hold, Piece, Step
from fakeprovider.faults.kind import STREAM, Kind, Param, Scene
from fakeprovider.protocols.dialect import Frame

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


def _line_ends(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    end = b"\r\n" if scene.values["ends"] == "crlf" else b"\r"
    return (frame._replace(data=frame.data.replace(b"\n", end)) for frame in frames)


def _no_space(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    for frame in frames:
        data = frame.data.replace(b"event: ", b"event:", 1).replace(b"data: ", b"data:", 1)
        yield frame._replace(data=data)


def _mark(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    yield Frame(b"\xef\xbb\xbf")
    yield from frames


def _split(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    size = scene.values["bytes"]
    for step in steps:
        if not isinstance(step, Piece):
            yield step
            continue
        for at in range(0, len(step.data), size):
            yield step._replace(data=step.data[at : at + size], tokens=0 if at else step.tokens)
            yield Hold(0)  # lets the write go out by itself


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


def _repeated(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    for number, frame in enumerate(frames):
        yield frame
        if number == scene.values["at"]:
            yield frame._replace(tokens=0)


def _dropped(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    return (frame for number, frame in enumerate(frames) if number != scene.values["at"])


def _kind(name: str, line: str, source: str, param: Param | None, **hooks: object) -> Kind:
    params = (param,) if param else ()
    return Kind(
        name=name,
        group="framing",
        line=line,
        source=source,
        params=params,
        forms=STREAM,
        **hooks,  # type: ignore[arg-type]  # stream= or steps=
    )


_STANDARD = "https://html.spec.whatwg.org/multipage/server-sent-events.html"
_AT = Param("at", 2, "which event, counted from 0")

KINDS = (
    _kind(
        "comments",
        "Comments, pings, retry fields and empty events between the events.",
        "brainlid/langchain#569, openai/openai-python#2722, theopenco/llmgateway#2334",
        Param("form", "all", "which of them", _FORMS),
        stream=_comments,
    ),
    _kind(
        "line_ends",
        "Lines that end in CRLF, or in CR alone.",
        _STANDARD,
        Param("ends", "crlf", "which", ("crlf", "cr")),
        stream=_line_ends,
    ),
    _kind("no_space", "No space after `data:` and `event:`.", _STANDARD, None, stream=_no_space),
    _kind(
        "byte_order_mark",
        "A byte order mark before the first event.",
        _STANDARD,
        None,
        stream=_mark,
    ),
    _kind(
        "split_writes",
        "Each event in several writes, cut anywhere, also inside characters.",
        "mock-server/mockserver-monorepo#2641",
        Param("bytes", 7, "bytes in a write", least=1),
        steps=_split,
    ),
    _kind(
        "one_write",
        "All events in one write.",
        "mock-server/mockserver-monorepo#2641",
        None,
        steps=_glued,
    ),
    _kind(
        "event_repeated",
        "One event comes twice.",
        "BerriAI/litellm#4168",
        _AT,
        stream=_repeated,
    ),
    _kind(
        "event_dropped",
        "One event is missing.",
        "NousResearch/hermes-agent#72833",
        _AT,
        stream=_dropped,
    ),
)
