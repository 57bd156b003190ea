"""The arguments of a run: one object, made once, refused in words before anything is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fakeprovider_harness.budget.budget_tree import Branch
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.clock import Clock
from fakeprovider_harness.context.policy import ContextPolicy
from fakeprovider_harness.models.base import Model
from fakeprovider_harness.quantities import expect
from fakeprovider_harness.settings import Settings
from fakeprovider_harness.state import RunState, Storage
from fakeprovider_harness.stop import Condition
from fakeprovider_harness.tools import Tool
from fakeprovider_harness.trace import Trace
from fakeprovider_harness.verify.verifier import Verifier


@dataclass(frozen=True, kw_only=True)
class RunArguments:
    """The arguments of `arun`, which says what they mean; raises as `check` does."""

    state: RunState
    model: Model
    stop: Condition | None
    tools: Iterable[Tool]
    price: Pricing
    trace: Trace | None
    store: Storage | None
    cancel: Cancel | None
    settings: Settings | None
    clock: Clock | None
    on_text: Callable[[str], None] | None
    verify: Verifier | None
    context: ContextPolicy | None
    branch: Branch | None

    def __post_init__(self) -> None:
        check(vars(self))


def check(arguments: Mapping[str, Any]) -> None:
    """Raise `TypeError` for an argument of a run that is something else; others are not looked at.

    A class in place of an object of it is something else, too.
    """
    for name, (fits, wanted) in _WANTED.items():
        if name in arguments:
            expect(fits(arguments[name]), f"{name} is {wanted}", arguments[name])


def _has(*names: str, optional: bool = True) -> Callable[[Any], bool]:
    def fits(value: Any) -> bool:
        if value is None:
            return optional
        return not isinstance(value, type) and all(hasattr(value, name) for name in names)

    return fits


def _is(kind: Any) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _calls(value: Any) -> bool:
    return value is None or callable(value)


_WANTED: dict[str, tuple[Callable[[Any], bool], str]] = {
    "state": (_is(RunState), "a RunState, such as RunState.start('…')"),
    "model": (_has("ask", "name", optional=False), "a client, such as ChatModel(base_url)"),
    "trace": (_calls, "a function of an event, such as a ListTrace(), or None"),
    "store": (_has("claim", "save"), "a Store(path), or None"),
    "cancel": (_is(Cancel | None), "a Cancel(), or None"),
    "settings": (_is(Settings | None), "a Settings(), or None"),
    "clock": (_has("monotonic", "reach"), "a SystemClock(), or None"),
    "on_text": (_calls, "a function of a text, or None"),
    "verify": (_calls, "a function of a Claim, such as CommandSucceeds(['pytest']), or None"),
    "context": (_has("window", "tools", "compact"), "a policy, such as Summarise(8_000), or None"),
    "branch": (_is(Branch | None), "the ctx.branch of a tool, or None"),
}
