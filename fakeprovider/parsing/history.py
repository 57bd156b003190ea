"""A fingerprint of a transcript, to see whether the next request goes on from it.

64 bits, carried along by the fold: one that depends on the order of the messages and one that does
not, so that a history that was shortened, reordered or rewritten can be told from one that grew.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fakeprovider.conversation import Message

MASK = 2**64 - 1
_FACTOR = 0x9E3779B97F4A7C15  # odd, so that no message drops out of the product


class Trail(NamedTuple):
    """Messages up to a point: how many, their fingerprint in order, and in any order."""

    length: int = 0
    chain: int = 0
    total: int = 0

    def then(self, mark: int) -> Trail:
        """The trail with one more message."""
        return Trail(
            self.length + 1,
            ((self.chain + mark) * _FACTOR) & MASK,
            (self.total + mark) & MASK,
        )


START = Trail()


class History(NamedTuple):
    """The whole transcript of a request, and what stood before its last assistant turn.

    Where a harness only ever appends, `base` is the `head` of the request that was answered with
    that turn.
    """

    head: Trail = START
    base: Trail = START


def mark(message: Message) -> int:
    """The fingerprint of one message: what it says, calls and answers, not how it was written."""
    parts = [message.role, message.text, message.call_id]
    for call in message.calls:
        parts += (call.id, call.name, call.arguments)
    data = "\x1f".join(parts).encode("utf-8", "replace")
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big")
