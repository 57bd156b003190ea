"""What a long-lived server remembers of requests: every cache there is, each bounded in bytes.

Forgetting any of it costs time and changes no byte of any reply. Scripts are asked every time; what
follows from their reply is worked out once.

What each is worth, as the application's own time for a request (median on one core, CPython 3.11):

- the next turn of a conversation of 80 to 100 turns takes 0.25 ms; without `PrefixCache` 0.9 ms,
  and without the messages by their bytes (`RequestCaches.entries`) 5 ms;
- a short request that is new takes 0.21 ms; one that was read before (`KnownRequest`) 0.14 ms; one
  whose whole reply the application remembers 0.012 ms.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from sys import getsizeof
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from fakeprovider.completion import Completion, complete
from fakeprovider.conversation import Conversation, Offered
from fakeprovider.parsing.counting import tools_count
from fakeprovider.parsing.fold import Entry, State
from fakeprovider.replies import Reply

if TYPE_CHECKING:
    from hashlib import _Hash

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


D = TypeVar("D")


class KnownRequest:
    """A conversation, and the completion of the reply that was last given in it."""

    __slots__ = ("_completion", "_description", "_reply", "_script", "_whole", "conversation")

    def __init__(self, conversation: Conversation) -> None:
        self.conversation = conversation
        self._reply: Reply | None = None
        self._script = ""
        self._completion: Completion | None = None
        self._whole: bytes | None = None
        self._description: tuple[Completion | None, Any] | None = None

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

    def describe(
        self,
        completion: Completion | None,
        describe: Callable[[Conversation, Completion | None], D],
    ) -> D:
        """What `describe` says of the conversation and this completion; it is asked once."""
        if self._description is None or self._description[0] is not completion:
            self._description = (completion, describe(self.conversation, completion))
        description: D = self._description[1]
        return description

    def size(self, body: bytes) -> int:
        """Bytes of memory that it may come to, with the body it is known by."""
        return 4 * len(body) + 1000 * len(self.conversation.messages) + 2 * _KEPT


WORTHWHILE = 4096  # bytes; below this the messages' own memo is as quick
_PER_BUCKET = 8
_HEAD, _SAMPLES, _SAMPLE = 4096, 32, 128  # bytes, how many, bytes each

PrefixKey: TypeAlias = tuple[str, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A request body up to the end of its last message.

    `array` is where the array of messages starts in it; `digest` is the running sha256 of
    `prefix`, to be copied before it is continued; `key` is where it is filed (see `PrefixCache`).
    """

    prefix: bytes
    array: int
    state: State
    digest: _Hash
    key: PrefixKey | None = None

    @property
    def size(self) -> int:
        """Bytes of memory: the prefix, the messages (shared or not), the tables over them."""
        return len(self.prefix) + self.state.size + 120 * len(self.state.messages) + 1000


def key_of(dialect: str, prefix: bytes, before: Checkpoint | None = None) -> PrefixKey | None:
    """Where a checkpoint is filed; None if it is too short to be worth it.

    `before` is the checkpoint that it goes on from: it often has the same key already.
    """
    end = _power_within(len(prefix))
    if end < WORTHWHILE:
        return None
    if before is not None and before.key is not None and before.key[1] == end:
        return before.key
    return (dialect, end, _samples(prefix, end))


def _samples(body: bytes, end: int) -> int:
    """A hash of the head of a body and of samples up to `end`: conversations differ in some."""
    step = max(_SAMPLE, end // _SAMPLES)
    starts = range(step, end - _SAMPLE + 1, step)
    return hash((body[: min(_HEAD, end)], *(body[at : at + _SAMPLE] for at in starts)))


def _power_within(length: int) -> int:
    """The greatest power of two that is not over `length`; 0 for 0."""
    return 1 << (length.bit_length() - 1) if length else 0


class PrefixCache:
    """Where conversations were left off, as many as fit in `limit` bytes.

    Checkpoints are found by the bytes that they start with: the next request of the same
    conversation starts with exactly these, so only what follows has to be decoded. JSON is read
    from left to right: the reader's state after a prefix depends on the prefix alone.

    A checkpoint of length n is filed under samples of its first p bytes, p the greatest power of
    two within n. A look-up tries the powers of two within the body, the greatest first, and
    compares what it finds there byte by byte. Forgotten first are checkpoints that a conversation
    has gone on from, then those of the conversations that were silent longest.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._buckets: OrderedDict[PrefixKey, list[Checkpoint]] = OrderedDict()
        self._passed: OrderedDict[Checkpoint, PrefixKey] = OrderedDict()

    def find(self, dialect: str, body: bytes) -> Checkpoint | None:
        """The longest checkpoint that `body` starts with, more or less; None if there is none."""
        end = _power_within(len(body))
        while end >= WORTHWHILE:
            key = (dialect, end, _samples(body, end))
            for checkpoint in reversed(self._buckets.get(key, ())):
                if body.startswith(checkpoint.prefix):
                    self._buckets.move_to_end(key)
                    return checkpoint
            end >>= 1
        return None

    def keep(self, checkpoint: Checkpoint, before: Checkpoint | None = None) -> None:
        """Remember a checkpoint, if it has a key and fits; it goes on from `before`."""
        if checkpoint.key is None or checkpoint.size > self.limit:
            return
        bucket = self._buckets.setdefault(checkpoint.key, [])
        self._buckets.move_to_end(checkpoint.key)
        bucket.append(checkpoint)
        self.used += checkpoint.size
        if before is not None and before.key is not None and before.key in self._buckets:
            self._passed[before] = before.key
        if len(bucket) > _PER_BUCKET:
            self._forget(checkpoint.key, bucket[0])
        while self.used > self.limit:
            self._forget_one()

    def _forget_one(self) -> None:
        if self._passed:
            checkpoint, key = next(iter(self._passed.items()))
        else:
            key, bucket = next(iter(self._buckets.items()))
            checkpoint = bucket[0]
        self._forget(key, checkpoint)

    def _forget(self, key: PrefixKey, checkpoint: Checkpoint) -> None:
        self._passed.pop(checkpoint, None)
        bucket = self._buckets.get(key, [])
        if checkpoint not in bucket:  # it was forgotten while its conversation was being read
            return
        bucket.remove(checkpoint)
        self.used -= checkpoint.size
        if not bucket:
            del self._buckets[key]


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
        self.prefixes = PrefixCache(limit - limit // 3 - limit // 6 - limit // 12)

    def read(
        self, dialect: str, raw: bytes, names: Mapping[str, str], parse: ParseMessage
    ) -> tuple[Entry, ...]:
        """The counted entries of one wire message; `names` has the tool of each call so far."""
        key = (dialect, raw)
        entries = self.entries.get(key)
        if entries is None:
            counted = []
            for entry in parse(raw):  # a result is not counted: its tool's name is still to come
                counted.append(entry if entry.message.role == "tool" else entry.counted())
            entries = tuple(counted)
            self.entries.put(key, entries, _cost(key, entries))
        if None not in [entry.tokens for entry in entries]:
            return entries
        # Results take the names of their tools, which stand in an earlier message.
        tools = tuple([names.get(entry.message.call_id, "") for entry in entries])
        named_key = (dialect, raw, tools)
        named = self.entries.get(named_key)
        if named is None:
            counted = []
            for entry, tool in zip(entries, tools, strict=True):
                counted.append(entry.counted(tool) if entry.message.role == "tool" else entry)
            named = tuple(counted)
            self.entries.put(named_key, named, _cost(named_key, named))
        return named

    def read_tools(
        self, dialect: str, raw: bytes, parse: Callable[[bytes], tuple[Offered, ...]]
    ) -> tuple[tuple[Offered, ...], int]:
        """The tools in `raw` JSON, and their tokens; none for `null`."""
        if raw == b"null":
            return (), 0
        counted = self.tools.get((dialect, raw))
        if counted is None:
            offered = parse(raw)
            counted = (offered, tools_count(offered))
            # Parsed JSON takes several times its text.
            self.tools.put((dialect, raw), counted, 8 * len(raw) + 1000)
        return counted


def _cost(key: Key, entries: tuple[Entry, ...]) -> int:
    return getsizeof(key) + getsizeof(key[1]) + sum(_ENTRY + entry.size for entry in entries)
