"""A model that guesses, and corrects itself only if the error tells it how."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out

HINT = "Call list_files"
GAVE_UP = "I could not read the file, so I do not know."
ANSWER = "errors.log mentions a timeout."


def recover(conversation: Conversation) -> Reply:
    """Guesses timeout.log; lists the files if the error says to, else gives up.

    Turns: read timeout.log; list_files if a result says "Call list_files"; read errors.log; answer.
    """
    match conversation.turn:
        case 0:
            return ask("read_file", {"path": "timeout.log"})
        case 1 if any(HINT in result.text for result in conversation.results):
            return ask("list_files")
        case 1:
            return say(GAVE_UP)
        case 2 if conversation.results:
            return ask("read_file", {"path": "errors.log"})
        case 3:
            return say(ANSWER)
    raise ran_out(conversation)


SCRIPTS = {"recover": recover}
