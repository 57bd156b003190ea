"""A model that takes in more than its context can hold."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask


def overflow(conversation: Conversation) -> Reply:
    """Reads part-01.txt, part-02.txt and so on, for ever, however long they are."""
    return ask("read_file", {"path": f"part-{conversation.turn + 1:02}.txt"})


SCRIPTS = {"overflow": overflow}
