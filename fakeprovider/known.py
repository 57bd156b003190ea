"""A request that was read before, with the last answer to it: identical runs ask identical things.

Scripts are asked every time; what follows from their reply is worked out once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from fakeprovider.completion import Completion, complete
from fakeprovider.conversation import Conversation
from fakeprovider.journal import Exchange
from fakeprovider.replies import Reply

if TYPE_CHECKING:
    from fakeprovider.protocols.base import Dialect

LONGEST = 1 << 16  # bytes of a body: beyond, reading on from a prefix is as quick

_KEPT = 1 << 14  # bytes of a rendered reply


Tell: TypeAlias = Callable[[Conversation, Completion | None], Exchange]
"""Makes a record of a conversation and its completion, as far as they go."""


class Known:
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
