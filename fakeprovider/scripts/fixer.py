"""A programmer that really fixes it: looks, changes the code, runs the tests, says so."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, say
from fakeprovider.scripts.ending import ran_out
from fakeprovider.scripts.patches import HALF, WHOLE

DONE = "Done: I fixed parse, show and share in money.py; all tests pass."

STEPS = (
    ask("list_files"),
    ask("read_file", {"path": "money.py"}),
    ask("run_tests"),
    ask("write_file", {"path": "money.py", "text": HALF}),
    ask("run_tests"),
    ask("write_file", {"path": "money.py", "text": WHOLE}),
    ask("run_tests"),
    say(DONE),
)


def fixer(conversation: Conversation) -> Reply:
    """Reads money.py, fixes it in two steps with a test run after each, then says so."""
    if conversation.turn < len(STEPS):
        return STEPS[conversation.turn]
    raise ran_out(conversation)


SCRIPTS = {"fixer": fixer}
