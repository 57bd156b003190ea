"""Conditions of the caller's own, and words to stop at."""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from typing import Any

from fakeprovider_harness.conditions.registry import stop_condition
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.quantities import expect, text
from fakeprovider_harness.state import RunState
from fakeprovider_harness.stop import Condition, Stops, written

__all__ = ["Predicate", "Says"]

Test = Callable[[RunState], Any]


@stop_condition(
    catches="whatever a function of your own can see in the state",
    weakness="must be quick and change nothing: it is called before every turn and every tool",
    example="Predicate('my_rules:out_of_stock')",
    arguments=lambda st: {"test": st.sampled_from(("builtins:bool", "builtins:callable"))},
)
@dataclass(frozen=True, repr=False)
class Predicate(Condition):
    """Stop when a function of the state says so: True, words that say why, or a `Stop`.

    `test` is the function or its `module:name`; a lambda works and cannot be written down. It is
    called at both gates, so it must be quick and change nothing. If it raises, the run stops: a
    guard that is broken guards nothing.
    """

    test: str | Test
    kind = StopKind.PREDICATE

    def __post_init__(self) -> None:
        expect(
            isinstance(self.test, str) or callable(self.test),
            "Predicate: test is a function of the state, or its 'module:name'",
            self.test,
        )
        if inspect.iscoroutinefunction(self.test):
            raise TypeError(f"Predicate: test is no async function: {self.test!r} is not awaited")
        if callable(self.test):
            object.__setattr__(self, "test", function_name(self.test) or self.test)
        elif ":" not in self.test:
            raise ValueError(f"{self!r}: name the function as 'module:name'")

    def __call__(self, state: RunState) -> Stops:
        try:
            test = function_named(self.test) if isinstance(self.test, str) else self.test
            verdict = test(state)
        except Exception as error:  # whatever the caller's function raises
            verdict = f"{type(error).__name__}: {error}"
        if isinstance(verdict, Stop):
            return (verdict,)
        if not verdict:
            return ()
        words = verdict if isinstance(verdict, str) else repr(verdict)
        evidence = {"predicate": str(self.test), **({} if verdict is True else {"error": words})}
        return (Stop(self.kind, evidence=evidence),)

    def __repr__(self) -> str:
        return written(self)


@stop_condition(
    catches="a marker that the model was told to end with",
    weakness="the model may say it and not have done it",
    example="Says('DONE')",
    arguments=lambda st: {"marker": st.sampled_from(("DONE", "Done."))},
)
@dataclass(frozen=True, repr=False)
class Says(Condition):
    """Stop when the model's last reply has `marker` as a whole line or as a tag around text.

    Only what the model says counts, never the task, a message of the user or a tool's result; a
    marker inside a sentence or a quotation is no marker.
    """

    marker: str
    kind = StopKind.PREDICATE

    def __post_init__(self) -> None:
        text("Says: marker", self.marker)
        if not self.marker.strip():
            raise ValueError("Says: an empty marker would be found everywhere")

    def __call__(self, state: RunState) -> Stops:
        replies = (m.content or "" for m in reversed(state.messages) if m.role == "assistant")
        if not has_marker(next(replies, ""), self.marker):
            return ()
        return (Stop(self.kind, evidence={"error": f"the model said {self.marker!r}"}),)

    def __repr__(self) -> str:
        return written(self)


def function_name(fn: Callable[..., Any]) -> str | None:
    """`module:name` if that leads back to `fn`; None for a lambda, a closure or a method."""
    name = f"{getattr(fn, '__module__', '')}:{getattr(fn, '__qualname__', '')}"
    module = sys.modules.get(name.partition(":")[0])
    try:
        return name if _attribute(module, name) is fn else None
    except AttributeError:
        return None


def function_named(name: str) -> Callable[..., Any]:
    """The function that `module:name` stands for; raises `ValueError` where there is none.

    The module is imported now, so it is run: take such text from your own files only.
    """
    try:
        fn = _attribute(import_module(name.partition(":")[0]), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"no function {name!r}: {error}") from error
    if not callable(fn):
        raise ValueError(f"{name!r} is no function")
    return fn  # type: ignore[no-any-return]  # callable, as has just been seen


def _attribute(module: Any, name: str) -> Any:
    return reduce(getattr, name.partition(":")[2].split("."), module)


_FENCE = re.compile(r"^(```|~~~).*?(?:^\1|\Z)", re.M | re.S)


def has_marker(text: str, marker: str) -> bool:
    """Whether `text` says `marker` as a whole line, as `<marker>…</marker>` or as `<x>marker</x>`.

    Space around it does not matter. Quoted lines (`>`), fenced code and sentences that mention it
    do not count.
    """
    lines = [line.strip() for line in _FENCE.sub("", text).splitlines()]
    escaped = re.escape(marker.strip())
    line = re.compile(rf"{escaped}|<(\w[\w-]*)>\s*{escaped}\s*</\1>|<{escaped}>.*</{escaped}>")
    return any(line.fullmatch(each) for each in lines)
