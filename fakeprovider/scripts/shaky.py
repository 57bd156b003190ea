"""A model that works with a tool that fails now and then, and tries again: honest work."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say

PAGES = 8
ANSWER = f"I read all {PAGES} pages."


def shaky(conversation: Conversation) -> Reply:
    """Fetches eight pages, each again after an error, then says so."""
    results = (message for message in conversation.messages if message.role == "tool")
    fetched = sum("error" not in result.text.lower() for result in results)
    return ask("fetch_page", {"page": fetched + 1}) if fetched < PAGES else say(ANSWER)


SCRIPTS = {"shaky": shaky}
