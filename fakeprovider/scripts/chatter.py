"""A model that talks: few turns, many words, and output is what costs."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, call, say

WORDS = (
    "Before I look at the next file, let me think aloud about what I have seen, what I might see, "
    "what it could mean, and how I would go on from there if it meant something else. "
) * 8


def chatter(conversation: Conversation) -> Reply:
    """Says some three hundred words and asks for list_files, for ever."""
    return say(WORDS, call("list_files"))


SCRIPTS = {"chatter": chatter}
