"""A ledger of what tools really did, and the classic tools over it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from fakeprovider_harness import Tool, tool


@dataclass
class Ledger:
    """What the tools really did."""

    done: list[Any] = field(default_factory=list)

    def write(self, **declared: Any) -> Tool:
        @tool(name="write", **declared)
        def write(x: int) -> str:
            """Append a number to the ledger."""
            self.done.append(x)
            return f"wrote {x}"

        return write

    @property
    def read(self) -> Tool:
        @tool(read_only=True)
        def read(x: int = 0) -> str:
            """Read."""
            return "v"

        return read
