"""Faults that were asked for and never struck: a test of them that proves nothing."""

from __future__ import annotations

from collections.abc import Sequence

from fakeprovider.faults.registry import Plan
from fakeprovider.journal import Exchange


def unstruck(plans: Sequence[Plan], exchanges: Sequence[Exchange]) -> list[str]:
    """A sentence for each fault that struck none of the exchanges, with the reason if it is known.

    Faults of one name are told apart by their turns.
    """
    found = []
    for plan in plans:
        alone = sum(one.kind.name == plan.kind.name for one in plans) == 1
        if not any(_struck(plan, one, alone) for one in exchanges):
            found.append(f"fault {_shown(plan)} never struck: {_why(plan, exchanges)}")
    return found


def _struck(plan: Plan, exchange: Exchange, alone: bool) -> bool:
    if exchange.fault != plan.kind.name:
        return False
    return alone or exchange.turn is None or exchange.turn in plan.turns


def _shown(plan: Plan) -> str:
    turns = plan.turns
    if turns.first == turns.last:
        return f"{plan.kind.name!r} (turn {turns.first})"
    if turns.last is not None or turns.first:
        last = "" if turns.last is None else turns.last
        return f"{plan.kind.name!r} (turns {turns.first}-{last})"
    return repr(plan.kind.name)


def _why(plan: Plan, exchanges: Sequence[Exchange]) -> str:
    if plan.kind.count is not None:
        return "nothing asked for a count of tokens that it could change"
    missed = f"{plan.kind.name}: "
    told = (
        note.detail.removeprefix(missed)
        for one in exchanges
        for note in one.notes
        if note.rule == "fault_missed" and note.detail.startswith(missed)
    )
    seen = sorted({one.turn for one in exchanges if one.turn is not None and not one.side})
    if not seen:
        return "no turn was asked for"
    return next(told, f"the turns that were asked for are {_range(seen)}")


def _range(seen: Sequence[int]) -> str:
    return f"{seen[0]}" if len(seen) == 1 else f"{seen[0]} to {seen[-1]}"
