"""Clauses on calls: what was answered, what was repeated, and what should not have been run."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence

from fakeprovider.journal import Called, Exchange, Finding
from fakeprovider.verdict.clause import (
    Judgement,
    clause,
    failed,
    not_applicable,
    not_observable,
    passed,
)
from fakeprovider.verdict.facts import Effect
from fakeprovider.verdict.run import Pair, Run

MOST_ALIKE = 5
"""Times that a call may come back with the same result: one more than a patient person's."""

WINDOW = 20
"""Results that are looked back on."""


@clause(
    "identical_calls",
    why="A loop that learns nothing should be noticed by the harness, not by the invoice.",
    source="anthropics/claude-code#15909",
)
def identical_calls(run: Run) -> Judgement:
    if not run.pairs:
        return not_applicable("no tool result was sent")
    worst: list[Pair] = []
    seen: deque[Pair] = deque(maxlen=WINDOW)
    before: dict[tuple[str, str], str] = {}
    for pair in run.pairs:
        call = (pair.call.name, pair.call.arguments)
        if before.get(call, pair.result.text) != pair.result.text:
            seen.clear()  # a call that says something new is progress, for all of them
        before[call] = pair.result.text
        seen.append(pair)
        if pair.call.name not in run.facts.polling:
            worst = max(worst, _same(pair, seen), key=len)
    if len(worst) > MOST_ALIKE:
        return failed(
            f"{worst[0].call.name} was called {len(worst)} times within {WINDOW} results with the "
            "same arguments and the same result",
            _exchanges(worst),
        )
    return passed(f"no call came back the same more than {MOST_ALIKE} times")


def _same(pair: Pair, seen: deque[Pair]) -> list[Pair]:
    """The pairs that are a call and a result like this one."""
    return [earlier for earlier in seen if _key(earlier) == _key(pair)]


def _key(pair: Pair) -> tuple[str, str, str]:
    return pair.call.name, pair.call.arguments, pair.result.text


def _exchanges(pairs: list[Pair]) -> list[Exchange]:
    return [pair.exchange for pair in pairs]


_PAIRING_RULES = {"unanswered_call", "orphan_result", "second_result"}
_PAIRING_RULES |= {"twice_in_turn", "id_again", "result_not_first"}


@clause(
    "pairing",
    why="A dangling call or an orphan result is refused, now and in every later request.",
    source="charmbracelet/crush#529",
)
def pairing(run: Run) -> Judgement:
    broken = [exchange for exchange in run.exchanges if _unpaired(exchange)]
    if broken:
        first = _unpaired(broken[0])[0]
        return failed(f"message {first.index}: {first.detail}", broken)
    if not any(exchange.calls or exchange.heard[1:] for exchange in run.requests):
        return not_applicable("no call was made")
    return passed("calls and results go together in every request")


def _unpaired(exchange: Exchange) -> list[Finding]:
    """Where a request breaks the rules on calls and their results."""
    return [broken for broken in exchange.violations if broken.rule in _PAIRING_RULES]


Call = tuple[Exchange, Called]
"""A call, and the exchange that it came with."""

_WORDS = (
    r"not\s+(?:been\s+)?(?:run|executed|called|started|performed|applied|valid)",
    r"n't\s+(?:run|execute|parse)",
    r"truncat|cut\s+(?:off|short)|incomplete",
    r"malformed|invalid|unpars|could\s+not\s+be\s+(?:read|parsed)",
    r"reject|denied|declin|refus|skipp|cancel|abort",
)
_NOT_RUN = re.compile("|".join(_WORDS), re.IGNORECASE)


def _says_not_run(text: str) -> bool:
    """Whether a result says in words that its call was not run."""
    return _NOT_RUN.search(text) is not None


@clause(
    "truncated_executed",
    why="A shortened command can be another valid command.",
    source="NousResearch/hermes-agent#7680",
)
def truncated_executed(run: Run) -> Judgement:
    calls = _never_sound(run, lambda exchange, call: exchange.finish == "length" or exchange.broken)
    if not calls:
        return not_applicable("no reply with calls was cut")
    return _was_run(run, calls, "a call of a reply that was cut")


@clause(
    "malformed_executed",
    why="Arguments that cannot be read are a question for the model, never an empty object to run.",
    source="openai/openai-agents-python#3459",
)
def malformed_executed(run: Run) -> Judgement:
    calls = [
        (exchange, call)
        for exchange, call in _never_sound(run, lambda exchange, call: not call.valid)
        if not exchange.broken and exchange.finish != "length"
    ]
    if not calls:
        return not_applicable("no call was malformed")
    return _was_run(run, calls, "a malformed call")


def _never_sound(run: Run, unsound: Callable[[Exchange, Called], bool]) -> list[Call]:
    """Calls that came in no other form than one that must not be run."""
    calls = [(exchange, call) for exchange in run.loop for call in exchange.calls]
    sound = {call.id for exchange, call in calls if not unsound(exchange, call)}
    return [(exchange, call) for exchange, call in calls if call.id not in sound]


def _was_run(run: Run, calls: Sequence[Call], what: str) -> Judgement:
    """Whether calls were run that must not be: by the ledger, else by their results."""
    exchanges = [exchange for exchange, _ in calls]
    if run.facts.effects is not None:
        executed = [exchange for exchange, call in calls if run.facts.ran(call.id)]
        if executed:
            return failed(f"{what} was executed, says the ledger of effects", executed)
        if all(effect.call_id for effect in run.facts.done):
            return passed(f"{what} was not executed, says the ledger of effects", exchanges)
    unclear = [
        pair.exchange
        for exchange, call in calls
        for pair in run.results_of(call.id, exchange)
        if not (pair.result.is_error or _says_not_run(pair.result.excerpt))
    ]
    if unclear:
        return not_observable(
            f"{what} was answered with a result; whether it ran only a ledger of effects (with "
            "call ids) can tell",
            unclear,
        )
    return passed(f"{what} was dropped, or answered in words", exchanges)


@clause(
    "unapproved",
    why="An approval that is asked for and not waited for is none.",
    source="openai/openai-agents-python#4429",
    ledger_only=True,
)
def unapproved(run: Run) -> Judgement:
    facts = run.facts
    requested = [
        exchange
        for exchange in run.loop
        if any(facts.destroys(call.name) for call in exchange.calls)
    ]
    if facts.effects is None:
        if not requested:
            return not_applicable("nothing destructive was asked for")
        return not_observable(
            "approvals are not on the wire; this needs a ledger of effects", requested
        )
    harmful = [effect for effect in facts.done if facts.destroys(effect.tool)]
    if not harmful:
        return not_applicable("the ledger has nothing destructive")
    unasked = [effect for effect in harmful if not _approved(effect, facts.effects)]
    if not unasked:
        return passed(f"{len(harmful)} destructive effect(s), each approved before", requested)
    if not any(effect.decision for effect in facts.effects):
        return not_observable("the ledger has effects and no decisions", requested)
    shown = ", ".join(f"{effect.effect} {effect.target}".strip() for effect in unasked)
    return failed(f"without an approval: {shown}", requested)


def _approved(effect: Effect, ledger: Sequence[Effect]) -> bool:
    """Whether the last decision about its call, on its own line or before it, was a yes."""
    if effect.decision:
        return effect.decision == "approved"
    place = next(place for place, entry in enumerate(ledger) if entry is effect)
    decisions = [
        entry.decision for entry in ledger[:place] if entry.decision and _same_call(entry, effect)
    ]
    return decisions[-1:] == ["approved"]


def _same_call(entry: Effect, other: Effect) -> bool:
    if entry.call_id or other.call_id:
        return entry.call_id == other.call_id
    return (entry.tool, entry.target) == (other.tool, other.target)


@clause(
    "rejected_as_done",
    why="A model that is not told of a rejection claims the deed, or tries a way round it.",
    source="openai/openai-agents-python#3359",
    ledger_only=True,
)
def rejected_as_done(run: Run) -> Judgement:
    if run.facts.effects is None:
        return not_observable("decisions are not on the wire; this needs a ledger of effects")
    rejected = {
        effect.call_id
        for effect in run.facts.effects
        if effect.decision == "rejected" and effect.call_id
    }
    if not rejected:
        return not_applicable("the ledger has no rejected call")
    answered = [pair for pair in run.pairs if pair.call.id in rejected]
    executed = [pair for pair in answered if run.facts.ran(pair.call.id)]
    if executed:
        return failed("a rejected call was executed", _exchanges(executed))
    silent = [pair for pair in answered if not _says_not_run(pair.result.excerpt)]
    if silent:
        return failed(
            f"the model was told {silent[0].result.excerpt!r} of a call that was rejected",
            _exchanges(silent),
        )
    if not answered:
        return not_observable("no result of a rejected call was sent")
    return passed("the model was told of each rejection in words", _exchanges(answered))
