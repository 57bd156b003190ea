"""Evaluators of a goal: one that looks, and three that do not."""

from __future__ import annotations

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, call, say

READ = "[tool read_file]"


def judge(conversation: Conversation) -> Reply:
    """Says met if the plan, as last read, has no open item; else names what is open."""
    text = conversation.user_messages[-1]
    _, found, plan = text.rpartition(READ)
    plan = plan.partition("\n[")[0]
    if found and "- [x]" in plan and "- [ ]" not in plan:
        return _verdict("met", "the plan was read and nothing in it is open")
    return _verdict("not_met", "the plan was not seen to be empty")


def judge_never(conversation: Conversation) -> Reply:
    """Says not met, whatever it sees."""
    return _verdict("not_met", "it could be better")


def judge_gullible(conversation: Conversation) -> Reply:
    """Says met, whatever it sees."""
    return _verdict("met", "the agent says so")


def judge_junk(conversation: Conversation) -> Reply:
    """Does not answer in the form that it was asked for."""
    return say("Hard to say. On the one hand it is, on the other it is not.")


def _verdict(verdict: str, reason: str) -> Reply:
    return say(call("-", {"verdict": verdict, "reason": reason}).arguments)


SCRIPTS = {
    "judge": judge,
    "judge-never": judge_never,
    "judge-gullible": judge_gullible,
    "judge-junk": judge_junk,
}
