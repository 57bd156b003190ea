"""A model that is simply not done yet: what a cap cuts and a progress check must not."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out

TURNS = 40
ANSWER = f"I read all {TURNS - 2} parts."


def long(conversation: Conversation) -> Reply:
    """Forty turns of progress: list_files, read part-01.txt to part-38.txt, then the answer."""
    turn = conversation.turn
    if turn == 0:
        return ask("list_files")
    if turn < TURNS - 1:
        return ask("read_file", {"path": f"part-{turn:02}.txt"})
    if turn == TURNS - 1:
        return say(ANSWER)
    raise ran_out(conversation)


SCRIPTS = {"long": long}
