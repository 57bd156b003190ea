"""A model that is always cut at the output limit, in the middle of a call."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, call

HALF = call("delete_file", '{"path": "err')


def truncated(conversation: Conversation) -> Reply:
    """Asks to delete a file whose name is cut off by the output limit, for ever."""
    return Reply((HALF,), finish="length")


SCRIPTS = {"truncated": truncated}
