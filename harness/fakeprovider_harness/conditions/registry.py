"""The kinds of stop conditions: how one is registered, read back from its text, and listed.

A condition registers itself with `stop_condition` where it is defined. `parse_stop`, the exports of
this package, the Hypothesis strategies, `bench stop` and docs/stop-conditions.md all go by what is
registered.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

from fakeprovider_harness.registry import Registry
from fakeprovider_harness.stop import Condition

Arguments = Callable[[ModuleType], Mapping[str, Any]]
"""Makes the strategies of a condition's arguments; it is given `hypothesis.strategies`, which is
not loaded for runs."""


class Trial(NamedTuple):
    """A condition for `bench stop`, and the scenarios that it must stop and must spare."""

    text: str
    stops: str
    spares: str


@dataclass(frozen=True)
class ConditionKind:
    """One kind of stop condition, and what parsers, strategies, the bench and the docs need of it.

    `example` is a text that `parse_stop` reads.
    """

    make: Callable[..., Condition]
    catches: str
    weakness: str
    example: str
    arguments: Arguments
    trials: tuple[Trial, ...] = ()


STOP_CONDITIONS: Registry[ConditionKind] = Registry(
    "stop condition",
    [
        f"fakeprovider_harness.conditions.{module}"
        for module in ("budgets", "limits", "repeats", "progress", "streaks", "predicate")
    ],
)
"""Every kind by the name of its class."""

C = TypeVar("C", bound=type[Condition])


def stop_condition(
    *,
    catches: str,
    weakness: str,
    example: str,
    arguments: Arguments,
    trials: tuple[Trial, ...] = (),
) -> Callable[[C], C]:
    """Register the class below under its name; see `ConditionKind` for what each argument says."""

    def register(kind: C) -> C:
        member = ConditionKind(kind, catches, weakness, example, arguments, trials)
        STOP_CONDITIONS.add(kind.__name__, member)
        return kind

    return register


def parse_stop(text: str, names: Mapping[str, Callable[..., Condition]] | None = None) -> Condition:
    """The condition that `repr` wrote, such as "MaxTurns(20) | MaxCost('0.05')".

    Only `names` (by default every registered condition), literals, `|`, `&` and parentheses are
    read; anything else raises `ValueError`. A function named in it is not looked for before the
    condition is used.
    """
    if names is None:
        names = {name: kind.make for name, kind in STOP_CONDITIONS.items()}
    try:
        return _build(ast.parse(text, mode="eval").body, names)
    except RecursionError as error:
        raise ValueError(f"not a stop condition: {text[:60]!r}… is nested too deeply") from error
    except (SyntaxError, TypeError) as error:
        raise ValueError(f"not a stop condition: {text!r} ({error})") from error


def _build(node: ast.expr, names: Mapping[str, Callable[..., Condition]]) -> Condition:
    match node:
        case ast.BinOp(left, ast.BitOr(), right):
            return _build(left, names) | _build(right, names)
        case ast.BinOp(left, ast.BitAnd(), right):
            return _build(left, names) & _build(right, names)
        case ast.Call(ast.Name(name), args, keywords) if name in names:
            by_keyword = {str(key.arg): _literal(key.value) for key in keywords}
            return names[name](*map(_literal, args), **by_keyword)
    known = ", ".join(sorted(names))
    raise ValueError(f"not a stop condition: {ast.unparse(node)!r}; there are {known}")


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        raise TypeError(f"{ast.unparse(node)} is no literal") from None


def docs_table() -> str:
    """The table of docs/stop-conditions.md, in Markdown."""
    rows = ["| condition | what it catches | its own weakness |", "|---|---|---|"]
    rows += [
        f"| `{kind.example}` | {kind.catches} | {kind.weakness} |"
        for kind in STOP_CONDITIONS.values()
    ]
    return "\n".join(rows).replace("`|`", "`\\|`") + "\n"
