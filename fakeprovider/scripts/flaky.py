"""A service that fails now and then: from the second turn on, plan comes at the third attempt."""

from __future__ import annotations

from dataclasses import replace

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Fault, Reply
from fakeprovider.scripts.plan import plan

OUTAGE = Fault("unavailable", {"times": 2})


def flaky(conversation: Conversation) -> Reply:
    """As plan, but the first two attempts at each turn but the first are answered with 503."""
    return replace(plan(conversation), fault=None if conversation.turn == 0 else OUTAGE)


SCRIPTS = {"flaky": flaky}
