"""A model that asks for a tool that takes its time."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out

ANSWER = "The archive was scanned."


def slow(conversation: Conversation) -> Reply:
    """Asks for scan_archive, a tool of several seconds, then says that it was scanned."""
    match conversation.turn:
        case 0:
            return ask("scan_archive")
        case 1:
            return say(ANSWER)
    raise ran_out(conversation)


SCRIPTS = {"slow": slow}
