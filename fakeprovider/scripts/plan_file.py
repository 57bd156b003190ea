"""Workers on a plan file, one item at a time: one that works, and four that do not.

Each goes by what it has said since the user last spoke, so that it does the same in a fresh
conversation and in one that goes on."""

from __future__ import annotations

import re

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, ask, call, say
from fakeprovider.scripts.registry import script

PLAN = "plan.md"
ALL_DONE = "All items are done."
APOLOGY = "Sorry, this is too long for me. Here is a summary of what could be done instead."
QUOTATION = (
    "You asked me to say <promise>COMPLETE</promise> when nothing is left. I am not there yet."
)
_OPEN = re.compile(r"^- \[ \] (.+?)\s*$", re.M)
_FILE = re.compile(r"[\w.-]+\.txt")
_MARKER = re.compile(r"say (<promise>\w+</promise>)")


@script
def worker(conversation: Conversation) -> Reply:
    """Reads plan.md, writes the file that the first open item names, ticks it, says so.

    With nothing open it says that, with the marker that it was told to say. Where it is offered
    wait and end_loop, it says when to go on.
    """
    step, plan = conversation.since_last_user, _plan(conversation)
    if step == 0 or plan is None:
        return ask("read_file", {"path": PLAN})
    item = _first_open(plan)
    if item is None:
        return _finished(conversation, step == 1)
    if step == 1:
        return ask("write_file", {"path": _file(item), "text": f"{item}\n"})
    if step == 2:
        return ask("write_file", {"path": PLAN, "text": _ticked(plan, item)})
    if step == 3 and conversation.offers("wait"):
        return ask("wait", {"minutes": 5, "reason": "the next item"})
    return say(f"Done: {item}.")


@script
def worker_stuck(conversation: Conversation) -> Reply:
    """Reads plan.md and writes the same notes, for ever; nothing is ever done."""
    match conversation.since_last_user:
        case 0:
            return ask("read_file", {"path": PLAN})
        case 1:
            return ask("write_file", {"path": "notes.txt", "text": "still thinking\n"})
        case 2 if conversation.offers("wait"):
            return ask("wait", {"minutes": 5, "reason": "still thinking"})
    return say("I am making good progress.")


@script
def worker_liar(conversation: Conversation) -> Reply:
    """Ticks the first open item without doing it, and says that it is done."""
    step, plan = conversation.since_last_user, _plan(conversation)
    if step == 0 or plan is None:
        return ask("read_file", {"path": PLAN})
    item = _first_open(plan)
    if step == 1 and item is not None:
        return ask("write_file", {"path": PLAN, "text": _ticked(plan, item)})
    return say("DONE. Everything works.")


@script
def worker_sorry(conversation: Conversation) -> Reply:
    """Apologises and does nothing."""
    return say(APOLOGY)


@script
def worker_quoting(conversation: Conversation) -> Reply:
    """Talks about the word that ends the loop without meaning it."""
    return say(QUOTATION)


def _plan(conversation: Conversation) -> str | None:
    """The plan as it was last read since the user spoke."""
    for message in reversed(conversation.messages):
        if message.opens_turn:
            return None
        if message.role == "tool" and "- [" in message.text:
            return message.text
    return None


def _first_open(plan: str) -> str | None:
    item = _OPEN.search(plan)
    return item.group(1) if item else None


def _ticked(plan: str, item: str) -> str:
    return plan.replace(f"- [ ] {item}", f"- [x] {item}", 1)


def _file(item: str) -> str:
    file = _FILE.search(item)
    return file.group() if file else "result.txt"


def _finished(conversation: Conversation, ending: bool) -> Reply:
    """What is said when no item is open; where it can, it ends the loop."""
    if ending and conversation.offers("end_loop"):
        return ask("end_loop", {"reason": "the plan is empty"})
    marker = _MARKER.search(conversation.user_messages[0])
    return say(f"{ALL_DONE}\n{marker.group(1)}" if marker else ALL_DONE)


READ = "[tool read_file]"


@script
def judge(conversation: Conversation) -> Reply:
    """Says met if the plan, as last read, has no open item; else names what is open."""
    text = conversation.user_messages[-1]
    _, was_read, plan = text.rpartition(READ)
    plan = plan.partition("\n[")[0]
    if was_read and "- [x]" in plan and "- [ ]" not in plan:
        return _verdict("met", "the plan was read and nothing in it is open")
    return _verdict("not_met", "the plan was not seen to be empty")


@script
def judge_never(conversation: Conversation) -> Reply:
    """Says not met, whatever it sees."""
    return _verdict("not_met", "it could be better")


@script
def judge_gullible(conversation: Conversation) -> Reply:
    """Says met, whatever it sees."""
    return _verdict("met", "the agent says so")


@script
def judge_junk(conversation: Conversation) -> Reply:
    """Does not answer in the form that it was asked for."""
    return say("Hard to say. On the one hand it is, on the other it is not.")


def _verdict(verdict: str, reason: str) -> Reply:
    return say(call("-", {"verdict": verdict, "reason": reason}).arguments)
