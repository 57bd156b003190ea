"""Where a conversation was left off: the bytes of a request up to its last message, and the fold.

The next request of the same conversation starts with exactly these bytes, so only what follows
has to be decoded. JSON is read from left to right: the reader's state after a prefix depends on
the prefix alone.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from fakeprovider.parsing.fold import State

if TYPE_CHECKING:
    from hashlib import _Hash

WORTHWHILE = 4096  # bytes; below this the messages' own memo is as quick
_PER_BUCKET = 8
_HEAD, _SAMPLES, _SAMPLE = 4096, 32, 128  # bytes, how many, bytes each

Key: TypeAlias = tuple[str, int, int]


@dataclass(frozen=True, slots=True, eq=False)
class Checkpoint:
    """A request body up to the end of its last message.

    `array` is where the array of messages starts in it; `digest` is the running sha256 of
    `prefix`, to be copied before it is continued; `key` is where it is filed (see `Prefixes`).
    """

    prefix: bytes
    array: int
    state: State
    digest: _Hash
    key: Key | None = None

    @property
    def size(self) -> int:
        """Bytes of memory: the prefix, the messages (shared or not), the tables over them."""
        return len(self.prefix) + self.state.size + 120 * len(self.state.messages) + 1000


def key_of(dialect: str, prefix: bytes, before: Checkpoint | None = None) -> Key | None:
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


class Prefixes:
    """Checkpoints, found by the bytes they start with; as many as fit in `limit` bytes.

    A checkpoint of length n is filed under samples of its first p bytes, p the greatest power of
    two within n. A look-up tries the powers of two within the body, the greatest first, and
    compares what it finds there byte by byte. Forgotten first are checkpoints that a conversation
    has gone on from, then those of the conversations that were silent longest.
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.used = 0
        self._buckets: OrderedDict[Key, list[Checkpoint]] = OrderedDict()
        self._passed: OrderedDict[Checkpoint, Key] = OrderedDict()

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

    def _forget(self, key: Key, checkpoint: Checkpoint) -> None:
        self._passed.pop(checkpoint, None)
        bucket = self._buckets.get(key, [])
        if checkpoint not in bucket:  # it was forgotten while its conversation was being read
            return
        bucket.remove(checkpoint)
        self.used -= checkpoint.size
        if not bucket:
            del self._buckets[key]
