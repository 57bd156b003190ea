"""A model that does not take no for an answer."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask


def denied(conversation: Conversation) -> Reply:
    """Asks to read /etc/shadow on every turn, whatever it is told."""
    return ask("read_file", {"path": "/etc/shadow"})


SCRIPTS = {"denied": denied}
