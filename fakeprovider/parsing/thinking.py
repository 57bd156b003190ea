"""Thinking that must come back: whether a client left out what the script had thought.

While tools run, the Messages API wants the blocks of the last turn back unchanged (extended
thinking guide, "Preserving thinking blocks"). What they were is not kept anywhere: the script is a
pure function of the conversation, so it is asked again for the turn in question.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from binascii import Error
from dataclasses import replace
from hashlib import sha256

from fakeprovider.conversation import Conversation, Violation
from fakeprovider.replies import Thinking
from fakeprovider.scripts import Script

THINKING_MISSING = "thinking_missing"


def missing_thinking(conversation: Conversation, script: Script) -> Violation | None:
    """The violation of a last turn that came back without its thinking, None if it had none.

    `options["unthought"]` is the index of an assistant message with calls and without thinking, in
    a request that has thinking on and ends in the results of these calls; None for any other.
    """
    index = conversation.options.get("unthought")
    if index is None or not _thought(conversation, script):
        return None
    return Violation(
        THINKING_MISSING,
        index,
        "its thinking block did not come back; while tools run, the last assistant message must "
        "begin with it, unchanged",
    )


def _thought(conversation: Conversation, script: Script) -> bool:
    """Whether the script's reply, in the turn that came back, began with thinking."""
    roles = [message.role for message in conversation.messages]
    last = len(roles) - 1 - roles[::-1].index("assistant")
    before = replace(
        conversation,
        messages=conversation.messages[:last],
        turn=max(0, conversation.turn - 1),
        position=max(0, conversation.position - 1),
    )
    try:
        reply = script(before)
    except Exception:  # a script that cannot be asked now has thought nothing that is known
        return False
    return any(isinstance(block, Thinking) for block in reply.blocks)


_MARK = b"fakeprovider\x00"


def sign(thinking: str) -> str:
    """The signature of a thinking block's words."""
    digest = sha256(_MARK + thinking.encode("utf-8", "replace")).digest()
    return b64encode(_MARK + digest).decode()


def is_ours(signature: str) -> bool:
    """Whether a signature was made by `sign`, of whatever words."""
    try:
        return b64decode(signature, validate=True).startswith(_MARK)
    except (Error, ValueError):
        return False
