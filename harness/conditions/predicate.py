"""Conditions of the caller's own, and words to stop at."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from harness.conditions.reference import found, named
from harness.markers import has_marker
from harness.refusals import expect, text
from harness.state import RunState
from harness.stop import Condition, Stops, written
from harness.ways_out import Stop, StopKind

Test = Callable[[RunState], Any]


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
            object.__setattr__(self, "test", named(self.test) or self.test)
        elif ":" not in self.test:
            raise ValueError(f"{self!r}: name the function as 'module:name'")

    def __call__(self, state: RunState) -> Stops:
        try:
            test = found(self.test) if isinstance(self.test, str) else self.test
            said = test(state)
        except Exception as error:  # whatever the caller's function raises
            said = f"{type(error).__name__}: {error}"
        if isinstance(said, Stop):
            return (said,)
        if not said:
            return ()
        words = said if isinstance(said, str) else repr(said)
        evidence = {"predicate": str(self.test), **({} if said is True else {"error": words})}
        return (Stop(self.kind, evidence=evidence),)

    def __repr__(self) -> str:
        return written(self)


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
