"""The agent loop with every way out of it."""

from fakeprovider_harness.approvals import StaleDecision, UnsafeRejection, approve, reject, settle
from fakeprovider_harness.budget.charging import Price, PriceTable, Pricing, UnknownPrice
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock, FakeClock, SystemClock
from fakeprovider_harness.conditions import (
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
from fakeprovider_harness.conditions.predicate import has_marker
from fakeprovider_harness.context import ContextPolicy
from fakeprovider_harness.engine.sync import run
from fakeprovider_harness.engine.transcript import close, say
from fakeprovider_harness.loop import arun
from fakeprovider_harness.models.retry import RetryBudget, RetryingModel, RetryPolicy
from fakeprovider_harness.outcomes import WAYS_OUT, Status, Stop, StopKind
from fakeprovider_harness.persistence.storage import NoStore, RunBusy, StaleRun, Storage
from fakeprovider_harness.persistence.store import NoSuchRun, Store
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import (
    Check,
    Interruption,
    LostRequest,
    PendingCall,
    RunState,
    SideRequest,
    ToolResult,
    TurnRecord,
)
from fakeprovider_harness.stop import AllOf, AnyOf, Condition, Limit
from fakeprovider_harness.tooling.process import (
    Finished,
    ProcessCancelled,
    run_process,
    tool_environment,
)
from fakeprovider_harness.tooling.subagent import subagent
from fakeprovider_harness.tools import (
    FatalToolError,
    PermanentToolError,
    Tool,
    ToolCancelled,
    ToolContext,
    ToolError,
    TransientToolError,
    tool,
)
from fakeprovider_harness.trace import JsonlTrace, ListTrace, Trace
from fakeprovider_harness.verify import Claim, Verdict, Verifier

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
