"""What a script raises when the conversation goes on after its last turn."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, say
from fakeprovider.scripts import source_repr

_SHOWN = 80


class ScriptRanOut(Exception):
    """The script has no turn left; answered with an error that clients do not retry."""


def ran_out(conversation: Conversation) -> ScriptRanOut:
    """The error for a conversation that outlived its script, naming turn and last message."""
    last = conversation.messages[-1]
    shown = last.text if len(last.text) <= _SHOWN else last.text[:_SHOWN] + "..."
    return ScriptRanOut(
        f"the script has no turn {conversation.turn} (turns count from 0); "
        f"the last message is from role {last.role!r}: {shown!r}"
    )


class Replies:
    """A script of these replies, one a turn; a text stands for `say(text)`.

    `again` is the place (from 0) that the script goes back to after its last reply; None means
    that it is over then. Prints as the Python that makes it. Raises `ValueError` for no replies,
    or a place that is none.

        Replies(ask("list_files"), "Done.")
        Replies(ask("list_files"), again=0)  # for ever
    """

    def __init__(self, *replies: Reply | str, again: int | None = None) -> None:
        if not replies:
            raise ValueError("a script needs at least one reply")
        if again is not None and not 0 <= again < len(replies):
            raise ValueError(f"again={again}: must be a place from 0 to {len(replies) - 1}")
        self.replies = tuple(say(one) if isinstance(one, str) else one for one in replies)
        self.again = again

    @property
    def turns(self) -> int | None:
        """How many turns it has, None if it never ends."""
        return len(self.replies) if self.again is None else None

    def __call__(self, conversation: Conversation) -> Reply:
        """The reply of the conversation's turn; raises `ScriptRanOut` past the end."""
        turn, count = conversation.turn, len(self.replies)
        if turn < count:
            return self.replies[turn]
        if self.again is None:
            raise ran_out(conversation)
        return self.replies[self.again + (turn - count) % (count - self.again)]

    def to_yaml(self) -> str:
        """The same script in YAML, ready to be a file; raises `ValueError` where YAML has no words
        for it."""
        return source_repr.yaml_of(self.replies, self.again)

    def __repr__(self) -> str:
        return source_repr.python_of(self.replies, self.again)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Replies):
            return NotImplemented
        return (self.replies, self.again) == (other.replies, other.again)

    def __hash__(self) -> int:
        return hash((self.replies, self.again))
