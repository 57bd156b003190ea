"""A stop condition from its text, without `eval`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from fakeprovider_harness.conditions.budgets import (
    MaxCost,
    MaxInputTokens,
    MaxOutputTokens,
    MaxTokens,
)
from fakeprovider_harness.conditions.limits import (
    ActiveTime,
    ContextWindow,
    Deadline,
    MaxToolCalls,
    MaxTurns,
)
from fakeprovider_harness.conditions.predicate import Predicate, Says
from fakeprovider_harness.conditions.progress import NoProgress
from fakeprovider_harness.conditions.repeats import RepeatedCalls
from fakeprovider_harness.conditions.streaks import (
    ConsecutiveErrors,
    EmptyReplies,
    MalformedCalls,
    TruncatedReplies,
)
from fakeprovider_harness.stop import Condition

NAMES: Mapping[str, Callable[..., Condition]] = {
    kind.__name__: kind
    for kind in (
        MaxTurns,
        MaxToolCalls,
        MaxTokens,
        MaxInputTokens,
        MaxOutputTokens,
        MaxCost,
        Deadline,
        ActiveTime,
        ContextWindow,
        EmptyReplies,
        TruncatedReplies,
        MalformedCalls,
        ConsecutiveErrors,
        RepeatedCalls,
        NoProgress,
        Predicate,
        Says,
    )
}


def parse_stop(text: str, names: Mapping[str, Callable[..., Condition]] = NAMES) -> Condition:
    """The condition that `repr` wrote, such as "MaxTurns(20) | MaxCost('0.05')".

    Only `names`, literals, `|`, `&` and parentheses are read; anything else raises `ValueError`.
    A function named in it is not looked for before the condition is used.
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
