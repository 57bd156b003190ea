"""A programmer that is stuck and does not notice."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask
from fakeprovider.scripts.patches import circled


def circling(conversation: Conversation) -> Reply:
    """Writes the same half of a fix with small changes and runs the tests, for ever."""
    attempt, step = divmod(conversation.turn, 2)
    if step == 0:
        return ask("write_file", {"path": "money.py", "text": circled(attempt + 1)})
    return ask("run_tests")


SCRIPTS = {"circling": circling}
