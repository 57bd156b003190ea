"""The agent loop with every way out of it."""

from harness.approvals import StaleDecision, UnsafeRejection, approve, reject, settle
from harness.cancel import Cancel
from harness.charging import Pricing, UnknownPrice
from harness.clock import Clock, FakeClock, SystemClock
from harness.conditions import (
    ActiveTime,
    ConsecutiveErrors,
    ContextWindow,
    Deadline,
    EmptyReplies,
    MalformedCalls,
    MaxCost,
    MaxInputTokens,
    MaxOutputTokens,
    MaxTokens,
    MaxToolCalls,
    MaxTurns,
    NoProgress,
    Predicate,
    RepeatedCalls,
    Says,
    TruncatedReplies,
    parse_stop,
)
from harness.context import ContextPolicy
from harness.front import run
from harness.loop import arun
from harness.markers import has_marker
from harness.prices import Price, PriceTable
from harness.process import Finished, ProcessCancelled, run_process, tool_environment
from harness.retry import RetryBudget, RetryingModel, RetryPolicy
from harness.settings import Settings
from harness.state import (
    Check,
    Interruption,
    LostRequest,
    PendingCall,
    RunState,
    SideRequest,
    ToolResult,
    TurnRecord,
)
from harness.stop import AllOf, AnyOf, Condition, Limit
from harness.storage import NoStore, RunBusy, StaleRun, Storage
from harness.store import NoSuchRun, Store
from harness.subagent import subagent
from harness.tools import (
    FatalToolError,
    PermanentToolError,
    Tool,
    ToolCancelled,
    ToolContext,
    ToolError,
    TransientToolError,
    tool,
)
from harness.trace import JsonlTrace, ListTrace, Trace
from harness.transcript import close, say
from harness.verify import Claim, Verdict, Verifier
from harness.ways_out import WAYS_OUT, Status, Stop, StopKind

__all__ = [
    "WAYS_OUT",
    "ActiveTime",
    "AllOf",
    "AnyOf",
    "Cancel",
    "Check",
    "Claim",
    "Clock",
    "Condition",
    "ConsecutiveErrors",
    "ContextPolicy",
    "ContextWindow",
    "Deadline",
    "EmptyReplies",
    "FakeClock",
    "FatalToolError",
    "Finished",
    "Interruption",
    "JsonlTrace",
    "Limit",
    "ListTrace",
    "LostRequest",
    "MalformedCalls",
    "MaxCost",
    "MaxInputTokens",
    "MaxOutputTokens",
    "MaxTokens",
    "MaxToolCalls",
    "MaxTurns",
    "NoProgress",
    "NoStore",
    "NoSuchRun",
    "PendingCall",
    "PermanentToolError",
    "Predicate",
    "Price",
    "PriceTable",
    "Pricing",
    "ProcessCancelled",
    "RepeatedCalls",
    "RetryBudget",
    "RetryPolicy",
    "RetryingModel",
    "RunBusy",
    "RunState",
    "Says",
    "Settings",
    "SideRequest",
    "StaleDecision",
    "StaleRun",
    "Status",
    "Stop",
    "StopKind",
    "Storage",
    "Store",
    "SystemClock",
    "Tool",
    "ToolCancelled",
    "ToolContext",
    "ToolError",
    "ToolResult",
    "Trace",
    "TransientToolError",
    "TruncatedReplies",
    "TurnRecord",
    "UnknownPrice",
    "UnsafeRejection",
    "Verdict",
    "Verifier",
    "approve",
    "arun",
    "close",
    "has_marker",
    "parse_stop",
    "reject",
    "run",
    "run_process",
    "say",
    "settle",
    "subagent",
    "tool",
    "tool_environment",
]
