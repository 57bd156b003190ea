"""The history only grows."""

from __future__ import annotations

from collections import Counter

from fakeprovider.journal import Exchange, Stretch
from fakeprovider.verdict.clause import (
    Clause,
    Finding,
    failed,
    github,
    not_applicable,
    not_observable,
    passed,
)
from fakeprovider.verdict.facts import Facts
from fakeprovider.verdict.run import Run, answers, repeats, user_spoke


def _judge_history(run: Run, facts: Facts) -> Finding:
    if any(exchange.head is None for exchange in run.loop):
        return not_observable("requests that name an earlier response do not hold the history")
    firsts = [step.attempts[0] for step in run.steps]
    later = [exchange for exchange in firsts[1:] if exchange.turn]
    if not later:
        return not_applicable("there was no second turn")
    known: list[Exchange] = []
    for exchange in firsts:
        what = _change(exchange, known)
        if what and not _compacted(run, known[-1], exchange):
            return failed(what, [known[-1], exchange])
        known.append(exchange)
    return passed("every request goes on from an earlier one", later[-1:])


def _change(exchange: Exchange, known: list[Exchange]) -> str:
    """How the history differs from every earlier one that it could go on from; "" if it does not.

    Only what shrank or was reordered counts: an earlier message that was edited does not.
    """
    if not exchange.turn or not known or any(_goes_on(exchange, one, known) for one in known):
        return ""
    base, head = _stretches(exchange)
    before = [_stretches(one)[1] for one in known]
    alike = [one for one in before if (base.length, base.total) == (one.length, one.total)]
    if alike and base not in alike:
        return "messages of the history changed places"
    if head.length <= before[-1].length:
        return (
            f"the history lost messages: there were {before[-1].length}, and with a reply and what "
            f"followed there are {head.length}"
        )
    return ""


def _goes_on(exchange: Exchange, earlier: Exchange, known: list[Exchange]) -> bool:
    """Whether what stood before the last assistant turn is what `earlier` had sent.

    A later answer that is put where `earlier` had calls is no reply to `earlier`: what lay between
    is gone. A client that keeps only answers as the user speaks on is let pass.
    """
    if _stretches(exchange)[0] != _stretches(earlier)[1]:
        return False
    if user_spoke(exchange) or not earlier.calls:
        return True
    return not any(answers(one) and repeats(exchange, one) for one in known)


def _stretches(exchange: Exchange) -> tuple[Stretch, Stretch]:
    nothing = Stretch(0, 0, 0)
    return exchange.base or nothing, exchange.head or nothing


def _compacted(run: Run, earlier: Exchange, later: Exchange) -> bool:
    """Whether the harness asked for a summary in between: then it shrinks on purpose."""
    return any(
        exchange.side == "compaction" and earlier.started <= exchange.started <= later.started
        for exchange in run.asked
    )


HISTORY = Clause(
    "history",
    "A history that shrinks or changes its order loses the prompt cache, and what was done.",
    github("MoonshotAI/kimi-code#1053"),
    _judge_history,
)


_RULES = frozenset(
    {
        "unanswered_call",
        "orphan_result",
        "second_result",
        "twice_in_turn",
        "id_again",
        "result_not_first",
    }
)


def _judge_pairing(run: Run, facts: Facts) -> Finding:
    broken = [
        exchange
        for exchange in run.exchanges
        if any(violation.rule in _RULES for violation in exchange.violations)
    ]
    if broken:
        first = next(one for one in broken[0].violations if one.rule in _RULES)
        return failed(f"message {first.index}: {first.detail}", broken)
    if not any(exchange.calls or exchange.heard[1:] for exchange in run.asked):
        return not_applicable("no call was made")
    return passed("calls and results go together in every request")


PAIRING = Clause(
    "pairing",
    "A dangling call or an orphan result is refused, now and in every later request.",
    github("charmbracelet/crush#529"),
    _judge_pairing,
)


def _judge_side_requests(run: Run, facts: Facts) -> Finding:
    if not run.asked:
        return not_applicable("no request was made")
    aside = [exchange for exchange in run.asked if exchange.side]
    if not aside:
        return passed("every request was one of the loop")
    kinds = Counter(exchange.side for exchange in aside)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return failed(f"{told}; they cost {_tokens(aside)} tokens", aside)


def _tokens(exchanges: list[Exchange]) -> int:
    usages = [exchange.usage for exchange in exchanges if exchange.usage]
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)


SIDE_REQUESTS = Clause(
    "side_requests",
    "Titles, probes and summaries are paid for too, and no cap or budget of the loop sees them.",
    github("openai/codex#23585"),
    _judge_side_requests,
)
