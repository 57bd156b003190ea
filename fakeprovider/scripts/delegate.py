"""A model that leaves the work to a sub-agent and repeats what it says."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out

QUESTION = "Which file mentions a timeout?"


def delegate(conversation: Conversation) -> Reply:
    """Asks research(question) once, then answers with what came back."""
    if conversation.turn == 0:
        return ask("research", {"question": QUESTION})
    if conversation.turn == 1:
        return say(_answer(conversation))
    raise ran_out(conversation)


def _answer(conversation: Conversation) -> str:
    result = conversation.last_result
    if result is None or "no result" in result.text:
        return "The research brought no result, so I do not know."
    return f"Research says: {result.text}"


SCRIPTS = {"delegate": delegate}
