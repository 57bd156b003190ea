"""Tools: what the model may call, and what each one declares about itself."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, overload

import msgspec

from fakeprovider_harness import quantities
from fakeprovider_harness.budget.budget_tree import Branch
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock
from fakeprovider_harness.models.base import ToolSpec
from fakeprovider_harness.quantities import text
from fakeprovider_harness.state import RunState, Storage, canonical, digest
from fakeprovider_harness.tooling.schema import CONTEXT, signature_schema, written
from fakeprovider_harness.trace import Trace

Arguments = dict[str, Any]
NAME = re.compile(r"[A-Za-z0-9_-]{1,128}")
"""What some service or other accepts as the name of a tool."""


class ToolError(Exception):
    """The call failed in a way the model may correct; the text should say how."""


class PermanentToolError(ToolError):
    """The call failed and will fail again, whatever the model changes."""


class TransientToolError(ToolError):
    """The call failed before it did anything, and may succeed if it is made again as it is."""


class FatalToolError(Exception):
    """The run must end: it fails with `fatal_tool_error` under every error policy."""


@dataclass(frozen=True)
class Tool:
    """A function the model may call, with its JSON Schema and what it does to the world.

    `fn` is called with the arguments by name; a parameter called `ctx` receives a `ToolContext`.
    It may be sync (run in a thread of its own) or async; what a sync one returns to be awaited is
    awaited. Text is returned to the model as it is,
    anything else as compact JSON, a `ToolResult` with its outcome.
    Once told to stop, a tool raises `ToolCancelled`; if it returns, it counts as done.

    `read_only`: no effects; may run again after a crash and have its result cached.
    `idempotent`: has effects, but a repeat under the same idempotency key changes nothing more.
    `needs_approval`: True, or a function of the arguments; a person decides before it runs.
    `timeout`: seconds until the call is cancelled (None: the setting of the run).
    `denies`: a function of the arguments that says in words why a call may not run, None if it may;
    such a call has the outcome `denied` and nobody is asked about it.
    `polling`: repeats with the same arguments are expected, and never answered from a cache; up to
    `max_polls` equal results in a row are no loop.
    `retries`: how often it is tried again after a failure, where that can do no harm: after a
    `TransientToolError`, and if it only reads or is idempotent after an error nobody worded or a
    timeout.
    `final`: its result is the answer of the run, which it completes; refused where a call before
    it in the same reply did not succeed.
    `runs_agent`: it runs an agent, which shares the budgets of the run. `check_price`, for such a
    tool: called before anything is sent, with the price of the run and whether a budget in USD
    counts what the agent spends; raises `UnknownPrice` where that could not be told.
    `cosmetic`: names of arguments that do not change what the call does, such as a label.
    `types`: what to convert arguments to before the call, by name.

    Raises `TypeError` or `ValueError` for a name or a number that cannot be meant, and for a
    decision that would have to be awaited.
    """

    name: str
    description: str
    parameters: Mapping[str, Any]
    fn: Callable[..., Any]
    read_only: bool = False
    needs_approval: bool | Callable[[Arguments], bool] = False
    idempotent: bool = False
    timeout: float | None = None
    polling: bool = False
    max_polls: int = 10
    cosmetic: tuple[str, ...] = ()
    runs_agent: bool = False
    check_price: Callable[[Pricing, bool], None] | None = None
    retries: int = 0
    final: bool = False
    denies: Callable[[Arguments], str | None] | None = None
    types: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        text("a tool's name", self.name)
        if not NAME.fullmatch(self.name):
            raise ValueError(f"tool {self.name!r}: a name is 1 to 128 letters, digits, _ or -")
        quantities.amount(f"tool {self.name!r}: timeout", self.timeout)
        quantities.whole(f"tool {self.name!r}: max_polls", self.max_polls, 1, optional=False)
        quantities.whole(f"tool {self.name!r}: retries", self.retries, optional=False)
        for name in ("needs_approval", "denies"):
            if inspect.iscoroutinefunction(getattr(self, name)):
                raise TypeError(f"tool {self.name!r}: {name} decides at once: no async function")

    @property
    def spec(self) -> ToolSpec:
        """What the model is told."""
        return ToolSpec(self.name, self.description, dict(self.parameters))

    @cached_property
    def schema(self) -> str:
        """The parameters as canonical JSON text."""
        return canonical(dict(self.parameters))

    @cached_property
    def declaration(self) -> str:
        """A digest of what the model is told: another one if the tool declares itself otherwise."""
        return digest(self.name, self.description, self.schema)

    @property
    def repeatable(self) -> bool:
        """Whether a call whose outcome is unknown may simply run again."""
        return self.read_only or self.idempotent

    def essential(self, arguments: Arguments) -> Arguments:
        """The arguments without the cosmetic ones."""
        return {name: value for name, value in arguments.items() if name not in self.cosmetic}

    def asks(self, arguments: Arguments) -> bool:
        """Whether a person decides before this call runs."""
        if callable(self.needs_approval):
            return bool(self.needs_approval(arguments))
        return self.needs_approval

    def denied(self, arguments: Arguments) -> str | None:
        """Why this call may not run, in words; None if it may."""
        return None if self.denies is None else self.denies(arguments)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature of `fn`."""
        return inspect.signature(self.fn)

    def bind(self, arguments: Arguments) -> Arguments:
        """The keyword arguments for `fn`, without `ctx`.

        Raises `TypeError` where they do not fit the signature, `msgspec.ValidationError` where
        they do not fit the types.
        """
        context = {CONTEXT: None} if self.takes_context else {}
        self.signature.bind(**arguments, **context)
        return {
            name: msgspec.convert(value, self.types[name]) if name in self.types else value
            for name, value in arguments.items()
        }

    @property
    def takes_context(self) -> bool:
        """Whether `fn` has a parameter called `ctx`."""
        return CONTEXT in self.signature.parameters


class ToolCancelled(Exception):
    """The tool stopped early because it was told to; the text is what it has to show."""


@dataclass(frozen=True)
class ToolContext:
    """What a running tool may know and use.

    `cancel` is set when the run is cancelled or the call times out; `idempotency_key` is the same
    each time this call is run, in whatever process. `measure("failing", 3)` reports a number that
    should fall, for `NoProgress("failing")`. `branch` is the place of an agent that it may run;
    `trace`, `store`, `clock` and `price` are the run's own, for such a tool.
    """

    run_id: str
    call_id: str
    idempotency_key: str
    cancel: Cancel
    progress: Callable[[str], None]
    measure: Callable[[str, float | int], None]
    spend: Callable[[RunState], None]
    branch: Branch
    trace: Trace
    store: Storage
    clock: Clock
    price: Pricing

    def check(self) -> None:
        """Raise `ToolCancelled` if the tool should stop; it says that nothing more was done."""
        if self.cancel.cancelled:
            raise ToolCancelled(self.cancel.reason)


@overload
def tool(fn: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    read_only: bool = False,
    needs_approval: bool | Callable[[Arguments], bool] = False,
    idempotent: bool = False,
    timeout: float | None = None,
    polling: bool = False,
    max_polls: int = 10,
    cosmetic: tuple[str, ...] = (),
    retries: int = 0,
    final: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    **declared: Any,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Make a `Tool` of a function: name, docstring and signature become what the model is told.

    Raises `TypeError` where a parameter has no annotation to make a schema of, and where neither
    `name` nor the function (a lambda, an object) says what to call it.
    """

    def make(fn: Callable[..., Any]) -> Tool:
        said = description if description is not None else inspect.getdoc(written(fn)) or ""
        called = name or _name(fn)
        if parameters is not None:
            return Tool(called, said, parameters, fn, **declared)
        schema, types = signature_schema(fn)
        return Tool(called, said, schema, fn, types=types, **declared)

    return make if fn is None else make(fn)


def _name(fn: Callable[..., Any]) -> str:
    if not callable(fn):
        raise TypeError(f"a tool is made of a function, not of {fn!r}")
    name = written(fn).__name__
    if not name.isidentifier() or name == "__call__":
        raise TypeError(f"{fn!r} has no name to call the tool by: give name=")
    return name
