"""A cache whose size is counted in bytes: what a long-lived server may remember.

Scripts are asked every time; what follows from their reply is worked out once.

Forgetting any of it costs time and changes no byte of any reply.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from sys import getsizeof
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from fakeprovider.completion import Completion, complete
from fakeprovider.conversation import Conversation, Offered
from fakeprovider.journal import Exchange
from fakeprovider.parsing.fold import Entry
from fakeprovider.parsing.prefix import Prefixes
from fakeprovider.replies import Reply

if TYPE_CHECKING:
    from fakeprovider.protocols.dialect import Dialect


K = TypeVar("K")
V = TypeVar("V")

_SLOT = 120  # bytes of an entry's own: dict slot, list node, key tuple, the stored cost


class ByteBoundedCache(Generic[K, V]):
    """The most recently used values, as many as fit in `limit` bytes.

    The caller says what an entry costs; what costs more than the limit is not kept.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._entries: OrderedDict[K, tuple[V, int]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: K) -> V | None:
        """The value under `key`, if it is still remembered."""
        entry = self._entries.get(key)
        if entry is None:
            return None
        self._entries.move_to_end(key)
        return entry[0]

    def put(self, key: K, value: V, cost: int) -> V:
        """Remember `value`, which takes `cost` bytes with its key; returns it."""
        self.drop(key)
        cost += _SLOT
        if cost <= self.limit:
            self._entries[key] = (value, cost)
            self.used += cost
        while self.used > self.limit:
            self.used -= self._entries.popitem(last=False)[1][1]
        return value

    def known(self) -> list[K]:
        """The keys that are remembered, the longest unused first."""
        return list(self._entries)

    def drop(self, key: K) -> None:
        """Forget `key`, if it is there."""
        entry = self._entries.pop(key, None)
        if entry is not None:
            self.used -= entry[1]


LONGEST = 1 << 16  # bytes of a body: beyond, reading on from a prefix is as quick

_KEPT = 1 << 14  # bytes of a rendered reply


Tell: TypeAlias = Callable[[Conversation, Completion | None], Exchange]
"""Makes a record of a conversation and its completion, as far as they go."""


class KnownRequest:
    """A conversation, and the completion of the reply that was last given in it."""

    __slots__ = ("_completion", "_reply", "_script", "_told", "_whole", "conversation")

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._reply: Reply | None = None
        self._script = ""
        self._completion: Completion | None = None
        self._whole: bytes | None = None
        self._told: tuple[Completion | None, Exchange] | None = None

    def complete(self, reply: Reply, script: str) -> Completion:
        """The completion of a script's reply."""
        if self._completion is None or self._script != script or self._reply != reply:
            self._completion = complete(self.conversation, reply, script)
            self._reply, self._script, self._whole = reply, script, None
        return self._completion

    def render_whole(self, dialect: Dialect, completion: Completion) -> bytes:
        """The body of the reply; the same completion is rendered once."""
        if self._whole is not None and completion is self._completion:
            return self._whole
        body = dialect.render_whole(self.conversation, completion)
        if completion is self._completion and len(body) <= _KEPT:
            self._whole = body
        return body

    def tell(self, completion: Completion | None, tell: Tell) -> Exchange:
        """What the journal says of the conversation and this completion of it."""
        if self._told is None or self._told[0] is not completion:
            self._told = (completion, tell(self.conversation, completion))
        return self._told[1]

    def size(self, body: bytes) -> int:
        """Bytes of memory that it may come to, with the body it is known by."""
        return 4 * len(body) + 1000 * len(self.conversation.messages) + 2 * _KEPT


MIB = 1 << 20

ParseMessage: TypeAlias = Callable[[bytes], tuple[Entry, ...]]
"""From the raw bytes of one wire message to its neutral ones, not yet counted."""

_ENTRY = 250  # bytes of an entry around its message: a tuple, its numbers

Key: TypeAlias = tuple[str, bytes] | tuple[str, bytes, tuple[str, ...]]


class RequestCaches:
    """The caches of one server, each bounded in bytes; 64 MiB in all by default.

    `entries` has messages by their raw bytes, `tools` the offered tools and their tokens by their
    raw bytes, `prefixes` long requests up to their last message, `requests` whole short ones by
    dialect, the model that the path names, and their body.
    """

    def __init__(self, limit: int = 64 * MIB) -> None:
        self.entries: ByteBoundedCache[Key, tuple[Entry, ...]] = ByteBoundedCache(limit // 3)
        self.requests: ByteBoundedCache[tuple[str, str, bytes], KnownRequest] = ByteBoundedCache(
            limit // 6
        )
        self.tools: ByteBoundedCache[tuple[str, bytes], tuple[tuple[Offered, ...], int]] = (
            ByteBoundedCache(limit // 12)
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
