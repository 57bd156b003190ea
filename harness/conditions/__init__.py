"""Stop conditions, each a pure function of the state."""

from harness.conditions.budgets import MaxCost, MaxInputTokens, MaxOutputTokens, MaxTokens
from harness.conditions.limits import ActiveTime, ContextWindow, Deadline, MaxToolCalls, MaxTurns
from harness.conditions.streaks import EmptyReplies, TruncatedReplies
from harness.conditions.text import parse_stop

__all__ = [
    "ActiveTime",
    "ContextWindow",
    "Deadline",
    "EmptyReplies",
    "MaxCost",
    "MaxInputTokens",
    "MaxOutputTokens",
    "MaxTokens",
    "MaxToolCalls",
    "MaxTurns",
    "TruncatedReplies",
    "parse_stop",
]
