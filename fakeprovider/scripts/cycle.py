"""A model that goes round in circles, three steps wide: each step looks different from the last."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask

STEPS = (
    ask("list_files"),
    ask("read_file", {"path": "notes.txt"}),
    ask("read_file", {"path": "errors.log"}),
)


def cycle(conversation: Conversation) -> Reply:
    """list_files, read_file notes.txt, read_file errors.log, and again, for ever."""
    return STEPS[conversation.turn % len(STEPS)]


SCRIPTS = {"cycle": cycle}
