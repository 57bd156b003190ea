"""A model that falls silent with the socket open: nothing is raised, so nothing is retried."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Fault, Reply, ask

SILENCE = Fault("hang_before_headers", {"seconds": 3600.0})


def stalled(conversation: Conversation) -> Reply:
    """Asks for list_files, and then never answers again."""
    fault = None if conversation.turn == 0 else SILENCE
    return Reply(ask("list_files").blocks, fault=fault)


SCRIPTS = {"stalled": stalled}
