"""What is wrong with a finished run: what was not answered, not asked for, not allowed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fakeprovider.errors import counted
from fakeprovider.faults import unstruck
from fakeprovider.journal import Exchange
from fakeprovider.serving import path_options

if TYPE_CHECKING:
    from fakeprovider.testing.run import Run


_SHOWN = 3


def problems(run: Run) -> list[str]:
    """Sentences, each with the names of what it is about; none where all is well."""
    if not run.requests and not run.admitted:
        return [_silent(run)]
    wrong = [*_unanswered(run), *_violations(run)]
    if run.refused and run.may_be_refused:
        return wrong
    return [*_refused(run), *wrong, *_unused(run), *_unstruck(run)]


def shown_name(script: str) -> str:
    """The script's name for a person: `inline` for those that were given no name."""
    return f"script {script.partition('~')[0]!r}"


def left_over(runs: Sequence[Run]) -> str:
    """What is said of runs that nobody closed; "" for none."""
    lines = [
        f"run {run.key!r} of {shown_name(run.script)} was {_how_far(run)}: "
        "use `with fake_provider.run(...) as run:`"
        for run in runs[:_SHOWN]
    ]
    if len(runs) > _SHOWN:
        lines.append(f"and {len(runs) - _SHOWN} more runs")
    return "\n".join(lines)


def _how_far(run: Run) -> str:
    return "opened and never closed" if run.opened else "asked for and never opened"


def _silent(run: Run) -> str:
    """An agent that asks somebody else, or nobody: a test that would prove nothing."""
    if run.settings.in_process:
        where = "run.transport and run.base_url"
    elif run.settings.sets_environ:
        where = "LLM_BASE_URL, OPENAI_BASE_URL, ANTHROPIC_BASE_URL or run.base_url"
    else:
        where = "run.base_url or run.environment"
    message = (
        f"no request came; the agent finds the provider in {where} "
        "(check=False for a run that is to have none)"
    )
    return f"{message}\n{run.last_words}" if run.last_words else message


def _refused(run: Run) -> list[str]:
    if not run.refused:
        return []
    were = "was" if run.refused == 1 else "were"
    refused = counted(run.refused, "request")
    return [f"{refused} {were} refused: the run had had its max_requests"]


def _unanswered(run: Run) -> list[str]:
    return [
        f"request {exchange.number} (turn {exchange.turn}) was not answered: "
        f"{exchange.status} {exchange.error}"
        for exchange in run.requests
        if _is_unanswered(exchange)
    ]


def _is_unanswered(exchange: Exchange) -> bool:
    wrong = exchange.status >= 400 and not exchange.fault and not exchange.violations
    return wrong and "max_requests" not in exchange.error and "`thread`" not in exchange.error


def _violations(run: Run) -> list[str]:
    return [f"violation: {violation}" for violation in run.tally.violations]


def _unstruck(run: Run) -> list[str]:
    if not run.settings.must_strike:
        return []
    options = run.script.partition(";")[2]
    plans = path_options.parse(options).orders.plans if options else ()
    return [f"{fault} (must_strike=False lets it pass)" for fault in unstruck(plans, run.requests)]


def _unused(run: Run) -> list[str]:
    if run.turns_expected is None:
        return []
    seen = [
        exchange.turn
        for exchange in run.requests
        if exchange.turn is not None and not exchange.side
    ]
    served = max(seen) + 1 if seen else 0
    if served >= run.turns_expected:
        return []
    if not seen:
        return [f"no turn was asked for, and the script has {counted(run.turns_expected, 'turn')}"]
    last = run.turns_expected - 1
    unused = ", ".join(map(str, range(served, last + 1)))
    turns = (
        f"turn {unused} (of 0 to {last}) was"
        if served == last
        else f"turns {unused} (of 0 to {last}) were"
    )
    return [f"{turns} never asked for; the last request was for turn {served - 1}"]


_MOST = 40  # lines; of a longer run the middle is left out
_CLIP = 100


def transcript(exchanges: Sequence[Exchange]) -> str:
    """Lines of turn, tokens in and out, what was called or how it ended, and what went wrong."""
    if not exchanges:
        return "no request came"
    lines = [_line(exchange) for exchange in exchanges]
    if len(lines) > _MOST:
        half = _MOST // 2
        lines = [*lines[:half], f"   ... {len(lines) - _MOST} more", *lines[-half:]]
    return "\n".join([" turn      in    out  reply", *lines, _total(exchanges)])


def _line(exchange: Exchange) -> str:
    turn = "-" if exchange.turn is None else str(exchange.turn)
    usage = exchange.usage
    tokens = f"{usage.prompt_tokens:7,} {usage.completion_tokens:6,}" if usage else " " * 14
    return f"{turn:>5} {tokens}  {'; '.join(_words(exchange))}"


def _words(exchange: Exchange) -> Iterator[str]:
    yield ", ".join(exchange.tools) or exchange.finish or f"status {exchange.status}"
    if exchange.fault:
        yield f"fault {exchange.fault}"
    if exchange.side:
        yield f"side request ({exchange.side})"
    for violation in exchange.violations:
        yield f"violation {violation.rule}: {violation.detail[:_CLIP]}"
    if exchange.error and not exchange.violations:
        yield exchange.error[:_CLIP]
    for result in exchange.heard:
        if result.role == "tool":
            yield f"heard {result.excerpt[:30]!r}"
    if exchange.cancelled:
        yield "the client left"


def _total(exchanges: Sequence[Exchange]) -> str:
    usages = [exchange.usage for exchange in exchanges if exchange.usage is not None]
    into = sum(usage.prompt_tokens for usage in usages)
    out = sum(usage.completion_tokens for usage in usages)
    return f"total {into:7,} {out:6,}  {counted(len(exchanges), 'request')}"
