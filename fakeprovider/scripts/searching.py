"""A model whose service searches the web for it, longer than one reply may take."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, Text, WebSearch
from fakeprovider.scripts.ending import ran_out

SEARCHES = 25
ANSWER = "Nothing on the web mentions that timeout."


def searching(conversation: Conversation) -> Reply:
    """Searches 25 times on the service's side, then answers: a turn that pauses twice."""
    if conversation.turn:
        raise ran_out(conversation)
    searches = (WebSearch(f"timeout {number}") for number in range(SEARCHES))
    return Reply((*searches, Text(ANSWER)))


SCRIPTS = {"searching": searching}
