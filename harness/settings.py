"""How a run treats errors, repeats and silence: the switches that are not stop conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from harness.retry import RetryPolicy

ErrorPolicy = Literal["fatal", "opaque", "instructive"] | Callable[[Exception], str]


@dataclass(frozen=True)
class Settings:
    """Switches of a run; the defaults are what most runs want.

    `errors`: what the model reads when a tool fails: `fatal` ends the run, `opaque` says only that
    it failed, `instructive` says what the tool said, a function makes the text of the exception.
    `permanent`: what a `PermanentToolError` does: `as_error` like any other, `tell` says that a
    retry is pointless and does not run the same call again, `stop` ends the run.
    `dedupe`: which repeated calls are answered from the earlier result: it saves the execution and
    no tokens. `all` caches writes too, and is there to show what that breaks.
    `unknown`: a call that was running when the process died and may not run again: `ask` a person,
    or `tell` the model and go on.
    `usage`: a reply without usage is estimated upwards and flagged, or (`require`) ends the run.
    `max_output`: tokens each reply may have (None: the provider's own limit); `assumed_output`:
    tokens charged for a reply that was lost in flight and has no such limit.
    `max_result`: characters of one tool result that requests carry (None: all); the transcript
    always has it whole.
    `tool_timeout`: seconds for tools without their own; `grace`: seconds a cancelled tool has to
    return.
    `parallel`: reads that run side by side; effects run alone and in order.
    `approval_expiry`: seconds after which a call that nobody decided on is answered as not run
    (None: it waits for ever).
    `verifications`: failed checks of a claim to be done, over the whole run, that end it (None: no
    limit); `verifier_retries`: how often a verifier that breaks is tried again for one claim;
    `verifier_timeout`: seconds that a check may take.
    `retry`: when a failed request is sent again (None: never; sub-agents inherit it); `retries`:
    how many retries the whole tree of runs may make (None: no limit).
    `max_depth`: levels of sub-agents below this run, `max_agents`: sub-agents in the tree below it
    (None: no limit); a sub-agent can only lower what it inherits.
    `empty_replies`, `truncated_replies`: how many in a row end the run (None: no limit).
    """

    errors: ErrorPolicy = "instructive"
    permanent: Literal["as_error", "tell", "stop"] = "as_error"
    dedupe: Literal["off", "read_only", "all"] = "off"
    unknown: Literal["ask", "tell"] = "ask"
    usage: Literal["estimate", "require"] = "estimate"
    max_output: int | None = None
    assumed_output: int = 4096
    max_result: int | None = 40_000
    tool_timeout: float | None = None
    grace: float = 0.15
    parallel: int = 8
    approval_expiry: float | None = None
    retry: RetryPolicy | None = None
    retries: int | None = 100
    max_depth: int = 1
    max_agents: int | None = 20
    empty_replies: int | None = 2
    truncated_replies: int | None = 3
    verifications: int | None = 3
    verifier_retries: int = 1
    verifier_timeout: float | None = None
