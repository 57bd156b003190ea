"""Stop conditions: pure functions of the state that say what fired, joined with `|` and `&`.

`eval(repr(condition)) == condition` wherever the arguments have a literal form, and `parse_stop`
reads that text back without `eval`: it is the form in which a condition is stored, traced and given
on a command line. A function has one where it stands at the top of a module, and is written as
"module:function"; a lambda, a closure or a method works, but cannot be written down. A limit of 0
is a limit; `None` is no limit. All counters follow from the state, so they survive a resume.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from itertools import islice, takewhile
from typing import Any, Literal

from fakeprovider_harness import quantities
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.state import RunState, TurnRecord

Stops = tuple[Stop, ...]

Scope = Literal["leg", "run", "tree"]
"""What a condition counts over. `tree`: the run and all its sub-agents. `run`: the run itself, over
all its legs. `leg`: since a person last took the run up, by resuming it after a stop for lack of
progress or by a new message; waiting for an approval, a limit that was raised or a process that
died do not start the count afresh."""


class Condition:
    """A stop condition: call it with a state; it returns every `Stop` that holds, or `()`."""

    scope: Scope = "run"

    def __call__(self, state: RunState) -> Stops:
        raise NotImplementedError

    def __or__(self, other: Condition) -> Condition:
        return AnyOf((*_parts(self, AnyOf), *_parts(other, AnyOf)))

    def __and__(self, other: Condition) -> Condition:
        return AllOf((*_parts(self, AllOf), *_parts(other, AllOf)))

    def __ror__(self, other: object) -> Condition:
        raise _no_condition(other)

    def __rand__(self, other: object) -> Condition:
        raise _no_condition(other)

    def __bool__(self) -> bool:
        raise TypeError("a stop condition is not a truth value: join with | and &, not or and and")

    @property
    def kind(self) -> StopKind:
        """The stop it leads to; a combination has none of its own."""
        raise NotImplementedError

    @property
    def needs_price(self) -> bool:
        """Whether it cannot judge a run whose price is unknown."""
        return False

    def veto(self, state: RunState) -> Stop | None:
        """What forbids the next call to run though the run goes on; None lets it run."""
        return None

    def advice(self, state: RunState) -> str | None:
        """What the model is to be told, once, before it is asked again; None for nothing."""
        return None

    def time_left(self, state: RunState) -> float | None:
        """Seconds until it will hold by the passing of time alone; None if it never will."""
        return None

    def leaves(self) -> Iterator[Condition]:
        """The conditions this one is made of, itself if it is not a combination."""
        yield self


@dataclass(frozen=True, repr=False)
class AnyOf(Condition):
    """Holds when at least one part holds; says everything that fired."""

    parts: tuple[Condition, ...]

    def __call__(self, state: RunState) -> Stops:
        return tuple(stop for part in self.parts for stop in fired(part, state))

    def veto(self, state: RunState) -> Stop | None:
        return next((stop for part in self.parts if (stop := part.veto(state))), None)

    def time_left(self, state: RunState) -> float | None:
        times = [left for part in self.parts if (left := part.time_left(state)) is not None]
        return min(times, default=None)

    def __repr__(self) -> str:
        return " | ".join(map(repr, self.parts))

    def leaves(self) -> Iterator[Condition]:
        for part in self.parts:
            yield from part.leaves()


@dataclass(frozen=True, repr=False)
class AllOf(Condition):
    """Holds when every part holds."""

    parts: tuple[Condition, ...]

    def __call__(self, state: RunState) -> Stops:
        held = [fired(part, state) for part in self.parts]
        return tuple(stop for stops in held for stop in stops) if all(held) else ()

    def veto(self, state: RunState) -> Stop | None:
        vetoes = [part.veto(state) for part in self.parts]
        return vetoes[0] if all(vetoes) else None

    def time_left(self, state: RunState) -> float | None:
        times = [part.time_left(state) for part in self.parts]
        return None if None in times else max(filter(None, times), default=0.0)

    def __repr__(self) -> str:
        return " & ".join(f"({p!r})" if isinstance(p, AnyOf) else repr(p) for p in self.parts)

    def leaves(self) -> Iterator[Condition]:
        for part in self.parts:
            yield from part.leaves()


def fired(condition: Condition, state: RunState) -> Stops:
    """What a condition says of a state; one that breaks has fired: a broken guard guards nothing.

    Its stop is a `PREDICATE` whose evidence names the condition and what it must return.
    """
    try:
        said: object = condition(state)
    except Exception as error:  # whatever the caller's condition raises
        return (_broken(condition, f"raised {type(error).__name__}: {error}"),)
    if isinstance(said, tuple) and all(isinstance(each, Stop) for each in said):
        return said
    return (_broken(condition, f"returned {said!r}"),)


def _broken(condition: Condition, what: str) -> Stop:
    error = f"{condition!r} {what}; a stop condition returns {RETURNS}"
    return Stop(StopKind.PREDICATE, evidence={"predicate": repr(condition), "error": error})


def refuse_uncallable(condition: Condition) -> None:
    """Raise `TypeError` for a condition that cannot be asked: without `__call__`, or async."""
    for leaf in condition.leaves():
        call = type(leaf).__call__
        if call is Condition.__call__ or inspect.iscoroutinefunction(call):
            raise TypeError(
                f"{leaf!r} has no __call__(self, state) that is no coroutine; it returns {RETURNS}"
            )


RETURNS = "a tuple of every Stop that holds, or ()"


def _parts(condition: Condition, kind: type[AnyOf] | type[AllOf]) -> tuple[Condition, ...]:
    if not isinstance(condition, Condition):
        raise _no_condition(condition)
    return condition.parts if isinstance(condition, kind) else (condition,)


def _no_condition(value: object) -> TypeError:
    return TypeError(
        f"{value!r} is no stop condition: that is one such as MaxTurns(20) or MaxCost('0.05'), "
        "Predicate(function), or several joined with | and &"
    )


@dataclass(frozen=True, repr=False)
class Limit(Condition):
    """A condition that fires as soon as one number of the state reaches its limit.

    With `whole` that is a count, and its limit an int; else any number, seconds for example.
    """

    limit: Any
    whole = False

    def __post_init__(self) -> None:
        check = quantities.whole if self.whole else quantities.amount
        check(f"{type(self).__name__}: limit", self.limit)

    def __call__(self, state: RunState) -> Stops:
        if self.limit is None:
            return ()
        value = self.measure(state)
        if value < self.limit:
            return ()
        return (Stop(self.kind, value, self.limit, value - self.limit, self.evidence(state)),)

    def measure(self, state: RunState) -> Any:
        """The number that is held against the limit, in the limit's unit."""
        raise NotImplementedError

    def evidence(self, state: RunState) -> dict[str, Any]:
        """What a person needs beside the numbers."""
        return {}

    def __repr__(self) -> str:
        return written(self)


def written(condition: Condition) -> str:
    """A condition as it is written in Python, without what is at its default."""
    shown = []
    for place, each in enumerate(fields(condition)):  # type: ignore[arg-type]  # a dataclass
        value = getattr(condition, each.name)
        if value != each.default:
            shown.append(("" if place == 0 else f"{each.name}=") + _literal(value))
    return f"{type(condition).__name__}({', '.join(shown)})"


def _literal(value: Any) -> str:
    return repr(str(value) if isinstance(value, Decimal) else value)


def latest_turns(state: RunState) -> Iterator[TurnRecord]:
    """The turns since the run was started or resumed, the latest first."""
    return islice(reversed(state.turns), max(0, len(state.turns) - state.leg_turns))


def streak(values: Iterable[bool]) -> int:
    """How many values are true before the first that is not."""
    return sum(1 for _ in takewhile(bool, values))
