"""A model that has nothing to say and does not say so."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask


def empty(conversation: Conversation) -> Reply:
    """Asks for list_files, then replies with neither text nor call, for ever."""
    return ask("list_files") if conversation.turn == 0 else Reply()


SCRIPTS = {"empty": empty}
