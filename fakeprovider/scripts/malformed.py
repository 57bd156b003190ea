"""A model whose arguments are no JSON, though its reply came to its end."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask


def malformed(conversation: Conversation) -> Reply:
    """Asks for read_file with arguments that do not parse, for ever."""
    return ask("read_file", '{"path": notes.txt}')


SCRIPTS = {"malformed": malformed}
