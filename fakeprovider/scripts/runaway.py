"""A model that never stops by itself."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask


def runaway(conversation: Conversation) -> Reply:
    """Asks for list_files on every turn, for ever."""
    return ask("list_files")


SCRIPTS = {"runaway": runaway}
