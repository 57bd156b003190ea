"""What a script raises when the conversation goes on after its last turn."""

from __future__ import annotations

from fakeprovider.conversation import Conversation

_SHOWN = 80


class ScriptRanOut(Exception):
    """The script has no turn left; answered with an error that clients do not retry."""


def ran_out(conversation: Conversation) -> ScriptRanOut:
    """The error for a conversation that outlived its script, naming turn and last message."""
    last = conversation.messages[-1]
    shown = last.text if len(last.text) <= _SHOWN else last.text[:_SHOWN] + "..."
    return ScriptRanOut(
        f"the script has no turn {conversation.turn} (turns count from 0); "
        f"the last message is from role {last.role!r}: {shown!r}"
    )
