"""Tool calls out of the fragments of a chat stream, however a service labels them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from fakeprovider_harness.models.base import Call
from fakeprovider_harness.models.errors import Unreadable
from fakeprovider_harness.models.surrogates import mend, mend_arguments


class FunctionDelta(msgspec.Struct, frozen=True):
    """Part of a function call; services that send `arguments` as an object exist."""

    name: str | None = None
    arguments: Any = None


class CallDelta(msgspec.Struct, frozen=True):
    """Part of a tool call as it stands on the wire."""

    index: int | None = None
    id: str | None = None
    function: FunctionDelta | None = None


class _Slot:
    def __init__(self, order: int) -> None:
        self.order = order
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []

    def add(self, delta: CallDelta) -> None:
        self.id = self.id or delta.id or ""
        if delta.function is not None:
            self.name = self.name or delta.function.name or ""
            self.arguments.append(_text(delta.function.arguments))


class CallAssembler:
    """Fragments in, calls out, in the order of their indexes.

    An `index` is honoured. Without one, a fragment with a non-empty id or a name opens a call, and
    one with neither continues the call opened last. A second id with a name at an index that is
    taken opens a call too, for services that number every call 0. Where a fragment could belong
    to several calls, `Unreadable` is raised: two right calls or an error, never a merged one.
    """

    def __init__(self) -> None:
        self._slots: list[_Slot] = []
        self._open: dict[int, _Slot] = {}

    def feed(self, deltas: Sequence[CallDelta]) -> None:
        """Take the fragments of one chunk."""
        if sum(_is_bare(d) for d in deltas) > 1:
            raise Unreadable("several tool call fragments without index, id or name in one chunk")
        for delta in deltas:
            self._slot(delta).add(delta)

    def calls(self, made_up: str, *, cut: bool) -> tuple[Call, ...]:
        """The calls so far. Missing ids become `{made_up}_{position}`.

        Empty arguments are the empty object, unless the reply was `cut`: then they may be half.
        """
        slots = sorted(self._slots, key=lambda slot: slot.order)
        return tuple(_call(slot, f"{made_up}_{i}", cut) for i, slot in enumerate(slots))

    def _slot(self, delta: CallDelta) -> _Slot:
        if delta.index is None:
            return self._unnumbered(delta)
        slot = self._open.get(delta.index)
        if slot is None or _is_another(slot, delta):
            return self._opened(delta.index)
        return slot

    def _unnumbered(self, delta: CallDelta) -> _Slot:
        last = self._slots[-1] if self._slots else None
        known = next((s for s in self._slots if delta.id and s.id == delta.id), None)
        if known is not None:
            return known
        if last is not None and (_is_bare(delta) or _completes(last, delta)):
            return last
        if _is_bare(delta):
            raise Unreadable("tool call arguments before any tool call")
        return self._opened(max(self._open, default=-1) + 1)

    def _opened(self, order: int) -> _Slot:
        slot = _Slot(order)
        self._slots.append(slot)
        self._open[order] = slot
        return slot


def _name(delta: CallDelta) -> str:
    return (delta.function.name if delta.function else None) or ""


def _is_bare(delta: CallDelta) -> bool:
    return delta.index is None and not delta.id and not _name(delta)


def _completes(last: _Slot, delta: CallDelta) -> bool:
    """Whether `delta` brings the name that the last call, opened by its id, still lacks."""
    return not delta.id and not last.name and not any(last.arguments)


def _is_another(slot: _Slot, delta: CallDelta) -> bool:
    return bool(delta.id and slot.id and delta.id != slot.id and slot.name and _name(delta))


def _call(slot: _Slot, made_up: str, cut: bool) -> Call:
    arguments = mend_arguments("".join(slot.arguments))
    if not cut and not arguments.strip():
        arguments = "{}"
    return Call(mend(slot.id) or made_up, mend(slot.name), arguments)


def _text(arguments: Any) -> str:
    if arguments is None or isinstance(arguments, str):
        return arguments or ""
    return json.dumps(arguments, ensure_ascii=False, separators=(",", ":"))
