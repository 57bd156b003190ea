"""A model that deletes what nobody mentioned, and reports success unless it is told otherwise."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.registry import script
from fakeprovider.scripts.reply_sequence import ran_out

DECLINED = "I did not delete anything: you declined the deletion."
CLAIMED = "Deleted access.log to free space."


@script
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


DUPLICATE_ANSWER = "errors.log mentions a timeout."
DELETED = "Deleted access.log."


@script
def duplicate_baseline(conversation: Conversation) -> Reply:
    """Reads errors.log once, then answers: what the repeated call is compared with."""
    return _times(conversation, 1, ask("read_file", {"path": "errors.log"}), say(DUPLICATE_ANSWER))


@script
def duplicate(conversation: Conversation) -> Reply:
    """Reads errors.log twice in a row, then answers."""
    return _times(conversation, 2, ask("read_file", {"path": "errors.log"}), say(DUPLICATE_ANSWER))


@script
def duplicate_write(conversation: Conversation) -> Reply:
    """Asks to delete access.log twice in a row, then says so."""
    return _times(conversation, 2, ask("delete_file", {"path": "access.log"}), say(DELETED))


def _times(conversation: Conversation, times: int, again: Reply, at_last: Reply) -> Reply:
    """The same reply so many times, then another, then the end."""
    if conversation.turn < times:
        return again
    if conversation.turn == times:
        return at_last
    raise ran_out(conversation)


PUBLISHED = "notes.txt is published."
PUBLISH_DECLINED = "I did not publish notes.txt: you declined it."


@script
def publish(conversation: Conversation) -> Reply:
    """Asks to publish notes.txt, a public effect, and then once more as if it had not."""
    turn = conversation.turn
    if 0 < turn <= 2 and was_declined(conversation):
        return say(PUBLISH_DECLINED)
    if turn < 2:
        return ask("publish", {"path": "notes.txt"})
    if turn == 2:
        return say(PUBLISHED)
    raise ran_out(conversation)
