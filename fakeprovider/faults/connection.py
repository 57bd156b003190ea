"""Faults of the connection: what the client sees of the network, not of the service."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal

from fakeprovider.delivery.steps import Cut, Hold, Piece, Start, Step
from fakeprovider.faults.kind import STREAM, Param, Scene
from fakeprovider.faults.registry import fault

_AT = Param("at", 0.5, "the fraction of the body that is sent", most=1)
_SILENCE = Param("seconds", 600.0, "seconds of silence; the reply comes after them", most=86_400)


@fault(
    "reset",
    hook="steps",
    group="connection",
    line="The request is read, then the connection is reset (RST).",
    source="omnigent-ai/omnigent#872",
    breaks=True,
    chaos=True,
)
def _reset(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    yield Cut("reset")


@fault(
    "hang_before_headers",
    hook="steps",
    group="connection",
    line="Nothing at all for a long time.",
    source="earendil-works/pi#8331, microsoft/amplifier#339",
    params=(_SILENCE,),
    slow=True,
)
def _hang_before(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    yield Hold(scene.values["seconds"])
    yield from steps


@fault(
    "hang_after_headers",
    hook="steps",
    group="connection",
    line="Status and headers, then nothing for a long time.",
    source="agent0ai/agent-zero#1882, microsoft/vscode#321432",
    params=(_SILENCE,),
    slow=True,
)
def _hang_after(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    for step in steps:
        yield step
        if isinstance(step, Start):
            yield Hold(scene.values["seconds"])


@fault(
    "close_mid_body",
    hook="steps",
    group="connection",
    line="The connection is closed (FIN) in the middle of the body.",
    source="ltmoerdani/opencode-copilot-chat#170",
    params=(_AT,),
    breaks=True,
    chaos=True,
)
def _close_mid_body(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    return mid_body(list(steps), scene.values["at"], "close")


@fault(
    "reset_mid_body",
    hook="steps",
    group="connection",
    line="The connection is reset (RST) in the middle of the body.",
    source="endolith/open-interpreter#291, HKUDS/nanobot#4038",
    params=(_AT,),
    breaks=True,
    chaos=True,
)
def _reset_mid_body(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    return mid_body(list(steps), scene.values["at"], "reset")


def mid_body(steps: list[Step], at: float, how: Literal["close", "reset"]) -> Iterator[Step]:
    """The steps up to a fraction of the body's bytes (never all of them), then the end."""
    total = sum(len(step.data) for step in steps if isinstance(step, Piece))
    left = min(int(total * at), total - 1)
    for step in steps:
        if not isinstance(step, Piece):
            yield step
            continue
        part = step.data[:left]
        if part:
            yield step._replace(data=part)
        left -= len(part)
        if len(part) < len(step.data):
            break
    if how == "reset":
        yield Hold(_FLUSH)
    yield Cut(how)


_FLUSH = 0.05  # seconds in which the client can read what a reset would throw away


@fault(
    "slow_body",
    hook="steps",
    group="connection",
    line="The body drips in, a few bytes at a time.",
    source="mock-server/mockserver-monorepo#2641",
    params=(
        Param("bytes", 16, "bytes at a time", least=1),
        Param("gap", 0.1, "seconds between them", most=3600),
    ),
    slow=True,
)
def _slow_body(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    size, gap = scene.values["bytes"], scene.values["gap"]
    for step in steps:
        if not isinstance(step, Piece):
            yield step
            continue
        for at in range(0, len(step.data), size):
            yield step._replace(data=step.data[at : at + size], tokens=0 if at else step.tokens)
            yield Hold(gap)


@fault(
    "close_after",
    hook="steps",
    group="connection",
    line="The reply is whole, then a connection that was to be kept is closed unannounced.",
    source="mock-server/mockserver-monorepo#2641",
)
def _close_after(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    yield from steps
    yield Cut("close", complete=True)


@fault(
    "hold_open",
    hook="steps",
    group="connection",
    line="The reply is whole, but the stream's end is held back.",
    source="GCWing/OpenBitFun#2038",
    params=(Param("seconds", 120.0, "seconds until the end comes", most=86_400),),
    forms=STREAM,
    slow=True,
)
def _hold_open(steps: Iterable[Step], scene: Scene) -> Iterator[Step]:
    yield from steps
    yield Hold(scene.values["seconds"])
