"""A model that does as it should: look, read, answer."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out

ANSWER = "errors.log mentions a timeout: worker 7 timed out after 30000 ms."


def plan(conversation: Conversation) -> Reply:
    """Lists the files, reads errors.log, answers."""
    match conversation.turn:
        case 0:
            return ask("list_files")
        case 1:
            return ask("read_file", {"path": "errors.log"})
        case 2:
            return say(ANSWER)
    raise ran_out(conversation)


SCRIPTS = {"plan": plan}
