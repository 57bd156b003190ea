"""A model that never works where it can have others work: sub-agents that start sub-agents."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, call

QUESTIONS = ("Which file mentions a timeout?", "Which worker was it?", "How long did it take?")


def spender(conversation: Conversation) -> Reply:
    """Asks research(question) three times over on every turn, for ever."""
    first, *others = ({"question": question} for question in QUESTIONS)
    return ask("research", first, *(call("research", question) for question in others))


SCRIPTS = {"spender": spender}
