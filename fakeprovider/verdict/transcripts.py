"""Clauses on requests: the history only grows, and nothing is asked beside the loop."""

from __future__ import annotations

from collections import Counter

from fakeprovider.journal import Exchange, Stretch
from fakeprovider.verdict.clause import (
    Judgement,
    clause,
    failed,
    not_applicable,
    not_observable,
    passed,
)
from fakeprovider.verdict.run import Run, answers, repeats, user_spoke


@clause(
    "history",
    why="A history that shrinks or changes its order loses the prompt cache, and what was done.",
    source="MoonshotAI/kimi-code#1053",
)
def history(run: Run) -> Judgement:
    if any(exchange.head is None for exchange in run.loop):
        return not_observable("requests that name an earlier response do not hold the history")
    firsts = [step.attempts[0] for step in run.steps]
    later = [exchange for exchange in firsts[1:] if exchange.turn]
    if not later:
        return not_applicable("there was no second turn")
    earlier: list[Exchange] = []
    for exchange in firsts:
        change = _change(exchange, earlier)
        if change and not _compacted(run, earlier[-1], exchange):
            return failed(change, [earlier[-1], exchange])
        earlier.append(exchange)
    return passed("every request goes on from an earlier one", later[-1:])


def _change(exchange: Exchange, earlier: list[Exchange]) -> str:
    """How the history differs from every earlier one that it could go on from; "" if it does not.

    Only what shrank or was reordered counts: an earlier message that was edited does not.
    """
    if not exchange.turn or not earlier:
        return ""
    if any(_goes_on(exchange, request, earlier) for request in earlier):
        return ""
    base, head = _stretches(exchange)
    heads = [_stretches(request)[1] for request in earlier]
    alike = [other for other in heads if (base.length, base.total) == (other.length, other.total)]
    if alike and base not in alike:
        return "messages of the history changed places"
    if head.length <= heads[-1].length:
        return (
            f"the history lost messages: there were {heads[-1].length}, and with a reply and what "
            f"followed there are {head.length}"
        )
    return ""


def _goes_on(exchange: Exchange, request: Exchange, earlier: list[Exchange]) -> bool:
    """Whether what stood before the last assistant turn is what an earlier request had sent.

    A later answer that is put where `request` had calls is no reply to it: what lay between is
    gone. A client that keeps only answers as the user speaks on is let pass.
    """
    if _stretches(exchange)[0] != _stretches(request)[1]:
        return False
    if user_spoke(exchange) or not request.calls:
        return True
    return not any(answers(reply) and repeats(exchange, reply) for reply in earlier)


def _stretches(exchange: Exchange) -> tuple[Stretch, Stretch]:
    """Fingerprints of what stands before the last assistant turn, and of the whole history."""
    nothing = Stretch(0, 0, 0)
    return exchange.base or nothing, exchange.head or nothing


def _compacted(run: Run, earlier: Exchange, later: Exchange) -> bool:
    """Whether the harness asked for a summary in between: then it shrinks on purpose."""
    return any(
        exchange.side == "compaction" and earlier.started <= exchange.started <= later.started
        for exchange in run.requests
    )


@clause(
    "side_requests",
    why=(
        "Titles, probes and summaries are paid for too, and no cap or budget of the loop sees them."
    ),
    source="openai/codex#23585",
)
def side_requests(run: Run) -> Judgement:
    if not run.requests:
        return not_applicable("no request was made")
    aside = [exchange for exchange in run.requests if exchange.side]
    if not aside:
        return passed("every request was one of the loop")
    kinds = Counter(exchange.side for exchange in aside)
    shown = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return failed(f"{shown}; they cost {_tokens(aside)} tokens", aside)


def _tokens(exchanges: list[Exchange]) -> int:
    usages = [exchange.usage for exchange in exchanges if exchange.usage]
    return sum(usage.prompt_tokens + usage.completion_tokens for usage in usages)
