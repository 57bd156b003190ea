"""Streams that end where they should not, stand still, or end in an error."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from fakeprovider.completion import Completion
from fakeprovider.delivery.steps import Cut, Hold, Piece, Start, Step
from fakeprovider.faults.events import (
    argument_fragment,
    chat_calls,
    ends_call,
    finishes,
    first_choice,
    read,
    read_all,
    write_all,
)
from fakeprovider.faults.kind import BLOCKS, CHOICES, STREAM, Draft, Param, Scene
from fakeprovider.faults.registry import fault
from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Text, ToolCall

_AFTER = Param("after", 3, "tokens that are sent before")
_HOW = Param(
    "how",
    "eof",
    "a clean end of the body, a closed connection (FIN) or a reset one (RST)",
    ("eof", "close", "reset"),
)
_FLUSH = 0.05  # seconds in which the client can read what a reset would throw away
_FACE = "🙂"


def _end(how: str) -> Iterator[Step]:
    """How the connection ends: not at all for `eof`."""
    if how == "close":
        yield Cut("close")
    elif how == "reset":
        yield Hold(_FLUSH)
        yield Cut("reset")


@fault(
    "cut",
    hook="steps",
    group="stream",
    line="The stream ends after some tokens, as if that had been all.",
    source="ltmoerdani/opencode-copilot-chat#170, NVIDIA/TensorRT-LLM#18289",
    params=(_AFTER, _HOW),
    forms=STREAM,
    breaks=True,
    chaos=True,
)
def _cut(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    left = scene.values["after"]
    for step in steps:
        if isinstance(step, Piece) and step.tokens:
            if left < step.tokens:
                break
            left -= step.tokens
        yield step
    else:
        return
    yield from _end(scene.values["how"])


def _cut_in_call(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    steps = list(steps)
    fragments = _first_arguments(steps)
    yield from steps[: fragments[len(fragments) // 2]]
    yield from _end(scene.values["how"])


def _first_arguments(steps: Sequence[Step]) -> list[int]:
    """Which steps say something of the first call's arguments."""
    places: list[int] = []
    in_call = False
    for index, step in enumerate(steps):
        if isinstance(step, Piece):
            event = read(Frame(step.data))
            if ends_call(event, in_call):
                break
            fragment = argument_fragment(event)
            in_call = in_call or fragment is not None
            places += [index] if fragment else []
    return places


@fault(
    "cut_in_call",
    hook="reply",
    group="stream",
    line="The stream ends inside the arguments of a call.",
    source="shiaho777/web-to-app#748, endolith/open-interpreter#291",
    params=(_HOW,),
    forms=STREAM,
    needs="a call",
    breaks=True,
    steps=_cut_in_call,
)
def _with_arguments(draft: Draft) -> Completion:
    """A call has at least two tokens of arguments, so that there is a middle to cut."""
    blocks = tuple(
        ToolCall(block.name, '{"path":"notes.txt"}', block.id)
        if isinstance(block, ToolCall) and len(block.arguments) < 4
        else block
        for block in draft.reply.blocks
    )
    return draft.with_blocks(*blocks, finish=draft.reply.finish)


def _with_face(draft: Draft) -> Completion:
    """The reply says something outside ASCII, so that there is a character to cut in."""
    if not draft.reply.text.isascii():
        return draft.completed()
    blocks = (Text(f"Well {_FACE}"), *draft.reply.blocks)
    return draft.with_blocks(*blocks, finish=draft.reply.finish)


@fault(
    "cut_in_character",
    hook="steps",
    group="stream",
    line="The stream ends inside a character of several bytes.",
    source="griffinwork40/agent-afk#635",
    params=(_HOW,),
    forms=STREAM,
    breaks=True,
    reply=_with_face,
)
def _cut_in_character(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Piece) and not step.data.isascii():
            at = next(index for index, byte in enumerate(step.data) if byte >= 0xC0)
            yield step._replace(data=step.data[: at + 1])
            break
        yield step
    yield from _end(scene.values["how"])


@fault(
    "stall",
    hook="steps",
    group="stream",
    line="The stream stands still with the socket open, then goes on.",
    source="earendil-works/pi#8331, shiaho777/web-to-app#438",
    params=(
        _AFTER,
        Param("seconds", 600.0, "seconds of silence", most=86_400),
        Param("ping", 0.0, "seconds between comments meanwhile; 0 for none", most=86_400),
    ),
    forms=STREAM,
    slow=True,
)
def _stall(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    left = scene.values["after"]
    for step in steps:
        if isinstance(step, Piece) and step.tokens and left is not None:
            if left < step.tokens:
                yield from _silence(scene.values["seconds"], scene.values["ping"], step.due)
                left = None
            else:
                left -= step.tokens
        yield step


def _silence(seconds: float, ping: float, due: float) -> Iterator[Step]:
    """A hold, with a comment now and then if `ping` says how often."""
    while ping and seconds > ping:
        yield Hold(ping)
        yield Piece(b": ping\n\n", due)
        seconds -= ping
    yield Hold(seconds)


_ERRORS = {
    "overloaded": "Overloaded",
    "server": "The server had an error processing your request.",
    "rate_limit": "Rate limit reached.",
    "timeout": "The request timed out while processing.",
}


@fault(
    "error_mid_stream",
    hook="stream",
    group="stream",
    line="An error event after the 200, then the end.",
    source="anthropics/anthropic-sdk-python#1258, Alcova-AI/adk-anthropic-go#32",
    params=(
        Param(
            "at",
            "token",
            "where: after tokens, as first event, after the first call",
            ("token", "first", "call"),
        ),
        _AFTER,
        Param("error", "overloaded", "which error", tuple(_ERRORS)),
    ),
    forms=STREAM,
    breaks=True,
    chaos=True,
)
def _error_mid_stream(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    number = 0
    for frame in _before_error(frames, scene):
        yield frame
        number += 1
    kind = scene.values["error"]
    yield scene.dialect.render_stream_error(kind, _ERRORS[kind], number)


def _before_error(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """The frames that come before the error."""
    where, left = scene.values["at"], scene.values["after"]
    if where == "first":
        return
    if where == "call":
        yield from _to_end_of_call(frames)
        return
    for frame in frames:
        if left < frame.tokens or finishes(read(frame)):
            return
        left -= frame.tokens
        yield frame


def _to_end_of_call(frames: Iterable[Frame]) -> Iterator[Frame]:
    """Up to where the first call is complete; all of a stream without one, but its end."""
    in_call = False
    for event in read_all(frames):
        over = ends_call(event, in_call)
        if finishes(event) or (over and chat_calls(event)):
            return
        yield event.frame
        if over:
            return
        in_call = in_call or argument_fragment(event) is not None


@fault(
    "no_done",
    hook="stream",
    group="stream",
    line="Everything but the last event (`[DONE]`, `message_stop`).",
    source="theopenco/llmgateway#1901, open-learning-exchange/planet#10281",
    forms=STREAM,
    shapes=CHOICES | BLOCKS,
)
def _no_done(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    *kept, _ = frames
    yield from kept


@fault(
    "no_finish",
    hook="stream",
    group="stream",
    line="The stream never says why it ended.",
    source="ltmoerdani/opencode-copilot-chat#170, griffinwork40/agent-afk#635",
    params=(
        Param("done", "no", "whether `[DONE]` (and usage) still comes, in chat", ("no", "yes")),
    ),
    forms=STREAM,
    breaks=True,
)
def _no_finish(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    events = [event for event in read_all(frames) if not finishes(event)]
    if scene.values["done"] == "no":
        events = [event for event in events if first_choice(event) or "type" in (event.data or {})]
    yield from write_all(events)


@fault(
    "headers_only",
    hook="steps",
    group="stream",
    line="A 200 and the end of the stream, without one event.",
    source="GCWing/OpenBitFun#2038",
    forms=STREAM,
    breaks=True,
)
def _headers_only(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    yield next(step for step in steps if isinstance(step, Start))
