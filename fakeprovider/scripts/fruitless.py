"""A model that asks ever new questions and learns nothing: no call is ever repeated."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask


def fruitless(conversation: Conversation) -> Reply:
    """Searches for one word after another, for ever."""
    return ask("search_files", {"word": f"timeout-{conversation.turn + 1}"})


SCRIPTS = {"fruitless": fruitless}
