"""Stop conditions, each a pure function of the state."""

from fakeprovider_harness.conditions.budgets import (
    MaxCost,
    MaxInputTokens,
    MaxOutputTokens,
    MaxTokens,
)
from fakeprovider_harness.conditions.limits import (
    ActiveTime,
    ContextWindow,
    Deadline,
    MaxToolCalls,
    MaxTurns,
)
from fakeprovider_harness.conditions.predicate import Predicate, Says
from fakeprovider_harness.conditions.progress import NoProgress
from fakeprovider_harness.conditions.repeats import RepeatedCalls
from fakeprovider_harness.conditions.streaks import (
    ConsecutiveErrors,
    EmptyReplies,
    MalformedCalls,
    TruncatedReplies,
)
from fakeprovider_harness.conditions.text import parse_stop

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
