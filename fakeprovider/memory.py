"""What a server remembers between requests: caches, and nothing that a reply depends on.

Forgetting any of it costs time and changes no byte of any reply.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from sys import getsizeof
from typing import TypeAlias

from fakeprovider.bounded import Bounded
from fakeprovider.conversation import Offered
from fakeprovider.fold import Entry
from fakeprovider.known import Known
from fakeprovider.prefix import Prefixes

MIB = 1 << 20

ParseMessage: TypeAlias = Callable[[bytes], tuple[Entry, ...]]
"""From the raw bytes of one wire message to its neutral ones, not yet counted."""

_ENTRY = 250  # bytes of an entry around its message: a tuple, its numbers

Key: TypeAlias = tuple[str, bytes] | tuple[str, bytes, tuple[str, ...]]


class Memory:
    """The caches of one server, each bounded in bytes; 64 MiB in all by default.

    `entries` has messages by their raw bytes, `tools` the offered tools and their tokens by their
    raw bytes, `prefixes` long requests up to their last message, `requests` whole short ones by
    dialect, the model that the path names, and their body.
    """

    def __init__(self, limit: int = 64 * MIB) -> None:
        self.entries: Bounded[Key, tuple[Entry, ...]] = Bounded(limit // 3)
        self.requests: Bounded[tuple[str, str, bytes], Known] = Bounded(limit // 6)
        self.tools: Bounded[tuple[str, bytes], tuple[tuple[Offered, ...], int]] = Bounded(
            limit // 12
        )
        self.prefixes = Prefixes(limit - limit // 3 - limit // 6 - limit // 12)

    def read(
        self, dialect: str, raw: bytes, names: Mapping[str, str], parse: ParseMessage
    ) -> tuple[Entry, ...]:
        """The counted entries of one wire message; `names` has the tool of each call so far."""
        key = (dialect, raw)
        found = self.entries.get(key)
        if found is None:
            found = tuple(map(_counted, parse(raw)))
            self.entries.put(key, found, _cost(key, found))
        for entry in found:
            if entry.tokens is None:
                return self._with_tools(dialect, raw, names, found)
        return found

    def _with_tools(
        self, dialect: str, raw: bytes, names: Mapping[str, str], found: tuple[Entry, ...]
    ) -> tuple[Entry, ...]:
        """Results with the names of their tools, which stand in an earlier message."""
        tools = tuple(names.get(entry.message.call_id, "") for entry in found)
        key = (dialect, raw, tools)
        named = self.entries.get(key)
        if named is None:
            named = tuple(map(_named, found, tools))
            self.entries.put(key, named, _cost(key, named))
        return named


def _counted(entry: Entry) -> Entry:
    """Counts a message, unless it is a result: its tool's name is still to come."""
    return entry if entry.message.role == "tool" else entry.counted()


def _named(entry: Entry, tool: str) -> Entry:
    return entry.counted(tool) if entry.message.role == "tool" else entry


def _cost(key: Key, entries: tuple[Entry, ...]) -> int:
    return getsizeof(key) + getsizeof(key[1]) + sum(_ENTRY + entry.size for entry in entries)
