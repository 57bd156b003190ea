"""Stop conditions: pure functions of the state that say what fired, joined with `|` and `&`.

`eval(repr(condition)) == condition`, and `parse` reads that text back without `eval`: it is the
form in which a condition is stored, traced and given on a command line. A limit of 0 is a limit;
`None` is no limit.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from itertools import takewhile
from typing import Any, Literal, get_args

from harness.state import RunState, TurnRecord
from harness.ways_out import Stop, StopKind

Stops = tuple[Stop, ...]


class Condition:
    """A stop condition: call it with a state; it returns every `Stop` that holds, or `()`."""

    needs_price = False  # whether it cannot judge a run whose price is unknown

    def __call__(self, state: RunState) -> Stops:
        raise NotImplementedError

    def __or__(self, other: Condition) -> Condition:
        return AnyOf((*_parts(self, AnyOf), *_parts(other, AnyOf)))

    def __and__(self, other: Condition) -> Condition:
        return AllOf((*_parts(self, AllOf), *_parts(other, AllOf)))

    def __bool__(self) -> bool:
        raise TypeError("a stop condition is not a truth value: join with | and &, not or and and")

    def veto(self, state: RunState) -> Stop | None:
        """What forbids the next call to run though the run goes on; None lets it run."""
        return None

    def leaves(self) -> Iterator[Condition]:
        """The conditions this one is made of, itself if it is not a combination."""
        yield self


@dataclass(frozen=True, repr=False)
class AnyOf(Condition):
    """Holds when at least one part holds; says everything that fired."""

    parts: tuple[Condition, ...]

    def __call__(self, state: RunState) -> Stops:
        return tuple(stop for part in self.parts for stop in part(state))

    def veto(self, state: RunState) -> Stop | None:
        return next((stop for part in self.parts if (stop := part.veto(state))), None)

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
        fired = [part(state) for part in self.parts]
        return tuple(stop for stops in fired for stop in stops) if all(fired) else ()

    def veto(self, state: RunState) -> Stop | None:
        vetoes = [part.veto(state) for part in self.parts]
        return vetoes[0] if all(vetoes) else None

    def __repr__(self) -> str:
        return " & ".join(f"({p!r})" if isinstance(p, AnyOf) else repr(p) for p in self.parts)

    def leaves(self) -> Iterator[Condition]:
        for part in self.parts:
            yield from part.leaves()


def _parts(condition: Condition, kind: type[AnyOf] | type[AllOf]) -> tuple[Condition, ...]:
    return condition.parts if isinstance(condition, kind) else (condition,)


@dataclass(frozen=True, repr=False)
class Limit(Condition):
    """A condition that fires as soon as one number of the state reaches its limit."""

    limit: Any

    def __post_init__(self) -> None:
        if self.limit is not None and not self.limit >= 0:
            raise ValueError(f"{self!r}: a limit is 0 or more, or None for no limit")

    def __call__(self, state: RunState) -> Stops:
        if self.limit is None:
            return ()
        value = self.measure(state)
        if value < self.limit:
            return ()
        return (Stop(self.kind, value, self.limit, value - self.limit),)

    @property
    def kind(self) -> StopKind:
        """The stop this limit leads to."""
        raise NotImplementedError

    def measure(self, state: RunState) -> Any:
        """The number that is held against the limit, in the limit's unit."""
        raise NotImplementedError

    def __repr__(self) -> str:
        shown = str(self.limit) if isinstance(self.limit, Decimal) else self.limit
        return f"{type(self).__name__}({shown!r})"


@dataclass(frozen=True, repr=False)
class MaxTurns(Limit):
    """At most `limit` replies of the model; the calls of the last one stay pending."""

    limit: int | None
    kind = StopKind.MAX_TURNS

    def measure(self, state: RunState) -> int:
        return len(state.turns)


@dataclass(frozen=True, repr=False)
class MaxTokens(Limit):
    """Stop once input and output tokens together reach `limit`: over by at most one turn."""

    limit: int | None
    kind = StopKind.MAX_TOKENS

    def measure(self, state: RunState) -> int:
        return state.total_tokens


@dataclass(frozen=True, repr=False)
class MaxCost(Limit):
    """Stop once the run has cost `limit` USD: over by at most one turn.

    The limit is text, an int or a `Decimal`; a float raises `TypeError`, since 0.1 is not ten
    cents. Under it a run whose price is unknown is refused, and one that comes to a price that is
    unknown ends with `usage_unknown`: what cannot be counted cannot be kept under a limit.
    """

    limit: Decimal | None
    kind = StopKind.MAX_COST
    needs_price = True

    def __init__(self, limit: Decimal | str | int | None) -> None:
        if isinstance(limit, float):
            raise TypeError(f"MaxCost: write the amount as text, MaxCost('{limit}')")
        object.__setattr__(self, "limit", None if limit is None else Decimal(limit))
        self.__post_init__()

    def __call__(self, state: RunState) -> Stops:
        fired = super().__call__(state)
        if fired or self.limit is None or not state.unpriced:
            return fired
        evidence = {"error": f"the price of {state.unpriced} requests is not known"}
        return (Stop(StopKind.USAGE_UNKNOWN, evidence=evidence),)

    def measure(self, state: RunState) -> Decimal:
        return state.cost_usd


@dataclass(frozen=True, repr=False)
class Deadline(Limit):
    """Stop `limit` seconds after the run was started, waiting for people included."""

    limit: float | None
    kind = StopKind.DEADLINE

    def measure(self, state: RunState) -> float:
        return state.times.elapsed


@dataclass(frozen=True, repr=False)
class ActiveTime(Limit):
    """Stop after `limit` seconds of work; time between two legs, for a person, is not work."""

    limit: float | None
    kind = StopKind.ACTIVE_TIME

    def measure(self, state: RunState) -> float:
        return state.times.active


Over = Literal["stop", "skip", "reject"]


@dataclass(frozen=True, repr=False)
class MaxToolCalls(Limit):
    """At most `limit` tool executions in the run, exactly, also within one reply of many calls.

    What happens to the calls beyond it: `stop` ends the run and leaves them pending; `skip`
    answers them in words and goes on; `reject` answers the whole batch that would pass the limit
    and runs none of it.
    """

    limit: int | None
    over: Over = "stop"
    kind = StopKind.MAX_TOOL_CALLS

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.over not in get_args(Over):
            raise ValueError(f"MaxToolCalls: over is one of {get_args(Over)}, not {self.over!r}")

    def measure(self, state: RunState) -> int:
        return state.tool_runs

    def __call__(self, state: RunState) -> Stops:
        waiting = any(call.phase in ("new", "ready") for call in state.pending)
        return super().__call__(state) if self.over == "stop" and waiting else ()

    def veto(self, state: RunState) -> Stop | None:
        if self.over == "stop" or self.limit is None:
            return None
        turn = state.turns[-1]
        wanted = turn.tool_runs + turn.calls if self.over == "reject" else state.tool_runs + 1
        return Stop(self.kind, wanted, self.limit) if wanted > self.limit else None

    def __repr__(self) -> str:
        over = "" if self.over == "stop" else f", over={self.over!r}"
        return f"MaxToolCalls({self.limit!r}{over})"


@dataclass(frozen=True, repr=False)
class EmptyReplies(Limit):
    """Stop after `limit` replies in a row, within a leg, with neither text nor calls."""

    limit: int | None
    kind = StopKind.EMPTY_REPLIES

    def measure(self, state: RunState) -> int:
        return _streak(state, lambda turn: turn.empty)


@dataclass(frozen=True, repr=False)
class TruncatedReplies(Limit):
    """Stop after `limit` replies in a row, within a leg, that were cut at the output limit."""

    limit: int | None
    kind = StopKind.TRUNCATED_REPLIES

    def measure(self, state: RunState) -> int:
        return _streak(state, lambda turn: turn.finish == "length")


def _streak(state: RunState, holds: Callable[[TurnRecord], bool]) -> int:
    """How many of the last turns of this leg `holds` is true of, without a gap."""
    latest = (state.turns[i] for i in range(len(state.turns) - 1, state.leg_turns - 1, -1))
    return sum(1 for _ in takewhile(holds, latest))


NAMES: Mapping[str, Callable[..., Condition]] = {
    kind.__name__: kind
    for kind in (
        MaxTurns,
        MaxTokens,
        MaxCost,
        MaxToolCalls,
        Deadline,
        ActiveTime,
        EmptyReplies,
        TruncatedReplies,
    )
}


def parse(text: str, names: Mapping[str, Callable[..., Condition]] = NAMES) -> Condition:
    """The condition that `repr` wrote, such as "MaxTurns(20) | MaxCost('0.05')".

    Only `names`, literals, `|`, `&` and parentheses are read; anything else raises `ValueError`.
    """
    try:
        return _build(ast.parse(text, mode="eval").body, names)
    except (SyntaxError, TypeError) as error:
        raise ValueError(f"not a stop condition: {text!r} ({error})") from error


def _build(node: ast.expr, names: Mapping[str, Callable[..., Condition]]) -> Condition:
    match node:
        case ast.BinOp(left, ast.BitOr(), right):
            return _build(left, names) | _build(right, names)
        case ast.BinOp(left, ast.BitAnd(), right):
            return _build(left, names) & _build(right, names)
        case ast.Call(ast.Name(name), args, keywords) if name in names:
            named = {str(key.arg): _literal(key.value) for key in keywords}
            return names[name](*map(_literal, args), **named)
    known = ", ".join(sorted(names))
    raise ValueError(f"not a stop condition: {ast.unparse(node)!r}; there are {known}")


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise TypeError(f"{ast.unparse(node)} is no literal") from None
