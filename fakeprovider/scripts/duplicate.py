"""A model that asks for the same thing twice: a read, and a write."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out

ANSWER = "errors.log mentions a timeout."
DELETED = "Deleted access.log."


def duplicate_baseline(conversation: Conversation) -> Reply:
    """Reads errors.log once, then answers: what the repeated call is compared with."""
    return _times(conversation, 1, ask("read_file", {"path": "errors.log"}), say(ANSWER))


def duplicate(conversation: Conversation) -> Reply:
    """Reads errors.log twice in a row, then answers."""
    return _times(conversation, 2, ask("read_file", {"path": "errors.log"}), say(ANSWER))


def duplicate_write(conversation: Conversation) -> Reply:
    """Asks to delete access.log twice in a row, then says so."""
    return _times(conversation, 2, ask("delete_file", {"path": "access.log"}), say(DELETED))


def _times(conversation: Conversation, times: int, again: Reply, at_last: Reply) -> Reply:
    if conversation.turn < times:
        return again
    if conversation.turn == times:
        return at_last
    raise ran_out(conversation)


SCRIPTS = {
    "duplicate": duplicate,
    "duplicate-baseline": duplicate_baseline,
    "duplicate-write": duplicate_write,
}
