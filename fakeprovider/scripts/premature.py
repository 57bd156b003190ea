"""A programmer that declares victory first, and works once it is told that nothing is done."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out
from fakeprovider.scripts.fixer import DONE
from fakeprovider.scripts.patches import WHOLE

CLAIM = "Done. I fixed the rounding and all tests pass."

STEPS = (
    ask("read_file", {"path": "money.py"}),
    say(CLAIM),
    ask("write_file", {"path": "money.py", "text": WHOLE}),
    ask("run_tests"),
    say(DONE),
)


def premature(conversation: Conversation) -> Reply:
    """Reads one file and says that all is done; told otherwise, it fixes the code."""
    if conversation.turn < len(STEPS):
        return STEPS[conversation.turn]
    raise ran_out(conversation)


SCRIPTS = {"premature": premature}
