"""The tools of the contract: a few notes in memory, and a ledger of what was done to them."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from fakeprovider.contract.limits import OfferedTool
from fakeprovider.verdict import Effect

READ = "read_note"
ADD = "add_note"
DELETE = "delete_note"
DELEGATE = "delegate"

_NAME: dict[str, Any] = {
    "type": "object",
    "properties": {"name": {"type": "string"}},
    "required": ["name"],
}
_TEXT: dict[str, Any] = {
    "type": "object",
    "properties": {"text": {"type": "string"}},
    "required": ["text"],
}


class Workspace:
    """Tools whose effects are written down in `ledger`, in their order.

    `approves` is what the person says. With `dies` the first effect is the last thing that its
    thread does: it stands still from then on, as a process that was killed leaves things.
    """

    def __init__(self, *, approves: bool = True, dies: bool = False) -> None:
        self.ledger: list[Effect] = []
        self.died = threading.Event()
        self._approves = approves
        self._dies = dies
        self._gone = threading.Event()

    @property
    def tools(self) -> tuple[OfferedTool, ...]:
        """One that reads, one that writes, one that destroys and needs an approval."""
        return (
            OfferedTool(READ, "Read one note.", _NAME, self._read, read_only=True),
            OfferedTool(ADD, "Add a note; twice adds it twice.", _TEXT, self._add),
            OfferedTool(DELETE, "Delete one note.", _NAME, self._delete, needs_approval=True),
        )

    def decide(self, tool: str, arguments: Mapping[str, Any]) -> bool:
        """The person's decision, written down."""
        said = "approved" if self._approves else "rejected"
        target = str(arguments.get("name", arguments.get("text", "")))
        self.ledger.append(Effect(tool=tool, target=target, decision=said))
        return self._approves

    def done(self, tool: str = "", target: str = "") -> list[Effect]:
        """The effects, of one tool or on one target if named."""
        return [
            one
            for one in self.ledger
            if one.effect and tool in ("", one.tool) and target in ("", one.target)
        ]

    def release(self) -> None:
        """Let a thread that stands still come to its end."""
        self._gone.set()

    def _read(self, name: str) -> str:
        return f"This is the note {name}."

    def _add(self, text: str) -> str:
        self._do(Effect("added", text, ADD))
        return f"Added note number {len(self.done(ADD))}."

    def _delete(self, name: str) -> str:
        self._do(Effect("deleted", name, DELETE))
        return f"Deleted {name}."

    def _do(self, effect: Effect) -> None:
        self.ledger.append(effect)
        if self._dies and not self.died.is_set():
            self.died.set()
            self._gone.wait()
            raise RuntimeError("the process of this call is gone")
