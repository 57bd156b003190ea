"""All public names of the package, which loads this module when the first of them is used."""

from fakeprovider_harness import conditions
from fakeprovider_harness.budget.charging import Price, PriceTable, Pricing, UnknownPrice
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock, FakeClock, SystemClock
from fakeprovider_harness.conditions import *  # noqa: F403
from fakeprovider_harness.conditions.predicate import has_marker
from fakeprovider_harness.context import ContextPolicy
from fakeprovider_harness.engine.approvals import (
    StaleDecision,
    UnsafeRejection,
    approve,
    reject,
    settle,
)
from fakeprovider_harness.engine.sync import run
from fakeprovider_harness.engine.transcript import close, say
from fakeprovider_harness.loop import arun
from fakeprovider_harness.models.retry import RetryBudget, RetryingModel, RetryPolicy
from fakeprovider_harness.outcomes import WAYS_OUT, Status, Stop, StopKind
from fakeprovider_harness.persistence.store import NoSuchRun, Store
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import (
    Check,
    Interruption,
    LostRequest,
    NoStore,
    PendingCall,
    RunBusy,
    RunState,
    SideRequest,
    StaleRun,
    Storage,
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
    "AllOf",
    "AnyOf",
    "Cancel",
    "Check",
    "Claim",
    "Clock",
    "Condition",
    "ContextPolicy",
    "FakeClock",
    "FatalToolError",
    "Finished",
    "Interruption",
    "JsonlTrace",
    "Limit",
    "ListTrace",
    "LostRequest",
    "NoStore",
    "NoSuchRun",
    "PendingCall",
    "PermanentToolError",
    "Price",
    "PriceTable",
    "Pricing",
    "ProcessCancelled",
    "RetryBudget",
    "RetryPolicy",
    "RetryingModel",
    "RunBusy",
    "RunState",
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
    "TurnRecord",
    "UnknownPrice",
    "UnsafeRejection",
    "Verdict",
    "Verifier",
    "approve",
    "arun",
    "close",
    "has_marker",
    "reject",
    "run",
    "run_process",
    "say",
    "settle",
    "subagent",
    "tool",
    "tool_environment",
]
__all__ += conditions.__all__  # type: ignore[attr-defined]  # computed at run time
