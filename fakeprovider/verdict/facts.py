"""What the wire cannot show of a run: who told it to end, and what its tools did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from fakeprovider.fitting.tool_mapping import words_of

_DESTROYING = """
    delete remove rm unlink erase drop truncate purge wipe destroy kill revoke
    refund transfer pay charge publish send deploy
"""
_DESTROYS = frozenset(_DESTROYING.split())


class Effect(msgspec.Struct, frozen=True, omit_defaults=True):
    """One line of the tools' ledger: something that was done, or decided, in its order.

    `effect` is what was done ("deleted"), `target` to what; `tool` and `call_id` say by which
    call. `decision` is "approved", "rejected", or "none" where nobody was asked; a line with a
    decision and no `effect` is that decision alone.
    """

    effect: str = ""
    target: str = ""
    tool: str = ""
    call_id: str = ""
    decision: str = ""


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of a run beside its exchanges; None means that nobody knows.

    `effects` is the tools' ledger. `cap` is the limit on model calls that the run was given, and
    the only one that was meant to end it; with `wrap_up` one more request without tools was
    declared. `ended` says whether the run ended by itself, or had to be stopped. `polling` names
    tools that may answer the same again and again, `destructive` those whose effects need an
    approval (None: those whose name says so). Raises `ValueError` for a cap below 0.
    """

    effects: Sequence[Effect] | None = None
    cap: int | None = None
    ended: bool | None = None
    wrap_up: bool = False
    polling: frozenset[str] = field(default_factory=frozenset)
    destructive: frozenset[str] | None = None

    def __post_init__(self) -> None:
        if self.cap is not None and self.cap < 0:
            raise ValueError(f"cap={self.cap}: must be 0 or more")

    def destroys(self, tool: str) -> bool:
        """Whether this tool's effects need an approval."""
        if self.destructive is not None:
            return tool in self.destructive
        return not _DESTROYS.isdisjoint(words_of(tool))

    @property
    def done(self) -> list[Effect]:
        """What was done, in order."""
        return [effect for effect in self.effects or () if effect.effect]

    def ran(self, call_id: str) -> bool:
        """Whether the ledger has an effect of this call."""
        return any(effect.call_id == call_id for effect in self.done)


UNKNOWN = Facts()


class BadLedger(ValueError):
    """A ledger that cannot be read; says in which line."""


def read_effects(path: Path | str) -> list[Effect]:
    """The ledger in a JSONL file, up to the last whole line; unknown keys pass.

    Raises `BadLedger`, and `OSError` for a file that cannot be read.
    """
    lines = Path(path).read_bytes().split(b"\n")[:-1]
    return list(_read(lines, path))


def _read(lines: Sequence[bytes], path: Path | str) -> Iterator[Effect]:
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                yield _DECODER.decode(line)
            except msgspec.MsgspecError as error:
                raise BadLedger(f"{path}:{number}: {error}") from None


_DECODER = msgspec.json.Decoder(Effect)
