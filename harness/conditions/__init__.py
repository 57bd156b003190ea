"""Stop conditions, each a pure function of the state."""

from harness.conditions.budgets import MaxCost, MaxInputTokens, MaxOutputTokens, MaxTokens
from harness.conditions.limits import ActiveTime, ContextWindow, Deadline, MaxToolCalls, MaxTurns
from harness.conditions.predicate import Predicate, Says
from harness.conditions.progress import NoProgress
from harness.conditions.repeats import RepeatedCalls
from harness.conditions.streaks import (
    ConsecutiveErrors,
    EmptyReplies,
    MalformedCalls,
    TruncatedReplies,
)
from harness.conditions.text import parse_stop

__all__ = [
    "ActiveTime",
    "ConsecutiveErrors",
    "ContextWindow",
    "Deadline",
    "EmptyReplies",
    "MalformedCalls",
    "MaxCost",
    "MaxInputTokens",
    "MaxOutputTokens",
    "MaxTokens",
    "MaxToolCalls",
    "MaxTurns",
    "NoProgress",
    "Predicate",
    "RepeatedCalls",
    "Says",
    "TruncatedReplies",
    "parse_stop",
]
