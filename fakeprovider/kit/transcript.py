"""A run in short, for a failing test: a line per request, with tokens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fakeprovider.journal import Exchange
from fakeprovider.plural import counted

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
    told = [one.usage for one in exchanges if one.usage is not None]
    into, out = sum(u.prompt_tokens for u in told), sum(u.completion_tokens for u in told)
    return f"total {into:7,} {out:6,}  {counted(len(exchanges), 'request')}"
