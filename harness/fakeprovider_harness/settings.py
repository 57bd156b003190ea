"""How a run treats errors, repeats and silence: the switches that are not stop conditions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from fakeprovider_harness import quantities
from fakeprovider_harness.models.retry import RetryPolicy

ErrorWords = Literal["fatal", "opaque", "instructive"]
ErrorPolicy = ErrorWords | Callable[[Exception], str]
Permanent = Literal["as_error", "tell", "stop"]
Dedupe = Literal["off", "read_only", "all"]
Unknown = Literal["ask", "tell"]
UsagePolicy = Literal["estimate", "require"]

_WORDS = {"permanent": Permanent, "dedupe": Dedupe, "unknown": Unknown, "usage": UsagePolicy}
_LEAST = {"max_output": 1, "parallel": 1}
_WHOLE = ("assumed_output", "parallel", "max_depth", "verifier_retries")
_WHOLE_OR_NONE = (
    "max_output",
    "max_result",
    "retries",
    "max_agents",
    "empty_replies",
    "truncated_replies",
    "verifications",
)
_SECONDS_OR_NONE = ("tool_timeout", "approval_expiry", "verifier_timeout")


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
    `empty_replies`, `truncated_replies`: how many in a row end the run (None: no limit); they count
    only where the stop condition has no `EmptyReplies` or `TruncatedReplies` of its own.

    Raises `ValueError` for a value that cannot be meant, `TypeError` for one of the wrong type;
    both say what is allowed.
    """

    errors: ErrorPolicy = "instructive"
    permanent: Permanent = "as_error"
    dedupe: Dedupe = "off"
    unknown: Unknown = "ask"
    usage: UsagePolicy = "estimate"
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

    def __post_init__(self) -> None:
        self._check_words()
        for name in _WHOLE + _WHOLE_OR_NONE:
            optional, least = name in _WHOLE_OR_NONE, _LEAST.get(name, 0)
            quantities.whole(f"Settings: {name}", getattr(self, name), least, optional=optional)
        quantities.amount("Settings: grace", self.grace, optional=False)
        for name in _SECONDS_OR_NONE:
            quantities.amount(f"Settings: {name}", getattr(self, name))
        if not isinstance(self.retry, RetryPolicy | None):
            raise TypeError(f"Settings: retry is a RetryPolicy(), or None; not {self.retry!r}")

    def _check_words(self) -> None:
        if not callable(self.errors):
            also = ", or a function from the exception to its text"
            _refuse_other("errors", self.errors, get_args(ErrorWords), also)
        for name, allowed in _WORDS.items():
            _refuse_other(name, getattr(self, name), get_args(allowed))


def _refuse_other(name: str, value: object, allowed: tuple[Any, ...], also: str = "") -> None:
    if value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise ValueError(f"Settings: {name} is one of {words}{also}; not {value!r}")
