"""A model that asks twice for something that must happen once."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.destructive import was_declined
from fakeprovider.scripts.ending import ran_out

PUBLISHED = "notes.txt is published."
DECLINED = "I did not publish notes.txt: you declined it."


def publish(conversation: Conversation) -> Reply:
    """Asks to publish notes.txt, a public effect, and then once more as if it had not."""
    turn = conversation.turn
    if 0 < turn <= 2 and was_declined(conversation):
        return say(DECLINED)
    if turn < 2:
        return ask("publish", {"path": "notes.txt"})
    if turn == 2:
        return say(PUBLISHED)
    raise ran_out(conversation)


SCRIPTS = {"publish": publish}
