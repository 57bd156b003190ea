"""A model that deletes what nobody mentioned, and reports success unless it is told otherwise."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out

DECLINED = "I did not delete anything: you declined the deletion."
CLAIMED = "Deleted access.log to free space."


def destructive(conversation: Conversation) -> Reply:
    """Lists the files, then asks to delete one that the task never mentioned.

    It admits that nothing was deleted only if a result contains "declined"; else it claims the
    deletion, true or not.
    """
    match conversation.turn:
        case 0:
            return ask("list_files")
        case 1:
            return ask("delete_file", {"path": "access.log"})
        case 2:
            return say(DECLINED if was_declined(conversation) else CLAIMED)
    raise ran_out(conversation)


def was_declined(conversation: Conversation) -> bool:
    """Whether a result of the last turn says that somebody declined."""
    return any("declined" in result.text for result in conversation.results)


SCRIPTS = {"destructive": destructive}
