"""A model that asks how far a job is until it is done: repetition that is honest work."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say

ANSWER = "The job is done."


def polling(conversation: Conversation) -> Reply:
    """Asks for job_status until a result says that the job is done, then says so."""
    last = conversation.last_result
    if last is not None and "done" in last.text:
        return say(ANSWER)
    return ask("job_status", {"job": 1})


SCRIPTS = {"polling": polling}
