"""Shrinking the context once it is due, and when shrinking it has become pointless."""

from __future__ import annotations

from collections.abc import Sequence

from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.context.policy import Ask, ContextPolicy, Moment
from fakeprovider_harness.engine.model_step import NotAdmitted, ask_beside, last_prompt
from fakeprovider_harness.engine.run_context import RunContext
from fakeprovider_harness.engine.transcript import shown, size
from fakeprovider_harness.models.base import Message, Model
from fakeprovider_harness.outcomes import Stop, StopKind
from fakeprovider_harness.records import View
from fakeprovider_harness.trace import Compaction

FRUITLESS = 2
"""Compactions in a row after which the very next prompt was over the window again."""


async def compact(run: RunContext, policy: ContextPolicy) -> Stop | None:
    """Ask the policy for a smaller view; returns why the run ends where that is of no use.

    A compaction was fruitless if the very next prompt was over the window again; after two, or
    where a prompt was refused as too long and nothing can be left out, the run ends.
    """
    state, refused = run.state, run.overflowed
    again = state.compacted == len(state.turns) - 1 and bool(state.turns)
    state.fruitless = state.fruitless + 1 if again else 0
    if state.fruitless >= FRUITLESS:
        return _pointless(run, policy, f"{FRUITLESS} compactions in a row freed nothing")
    view = await policy.compact(Moment(state, _asking(run)))
    if run.cancel.cancelled:
        return None
    state.compacted, run.overflowed = len(state.turns), False
    if view is not None:
        _adopt(run, view)
    elif refused:
        return _pointless(
            run, policy, "the prompt was refused as too long, and nothing can be left out"
        )
    run.journal.save()
    return None


def _asking(run: RunContext) -> Ask:
    async def ask(
        prompt: Sequence[Message], model: Model | None, price: Pricing, max_output: int | None
    ) -> str:
        try:
            reply = await ask_beside(
                run, "summary", prompt, model=model, price=price, max_output=max_output
            )
        except NotAdmitted:
            return ""
        return "" if reply is None else reply.text.strip()

    return ask


def _adopt(run: RunContext, view: View) -> None:
    before = sum(map(size, shown(run.state.messages, run.state.view)))
    run.state.view = view
    after = sum(map(size, shown(run.state.messages, view)))
    turn = len(run.state.turns)
    run.journal.emit(Compaction(run.state.run_id, turn, last_prompt(run.state), before, after))


def _pointless(run: RunContext, policy: ContextPolicy, why: str) -> Stop:
    prompt, window = last_prompt(run.state), policy.window
    return Stop(StopKind.CONTEXT_WINDOW, prompt, window, prompt - window, {"error": why})
