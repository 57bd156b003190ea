"""What a request costs: reported where it was, else estimated upwards and flagged, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from harness.models.base import Message, ModelReply, ToolSpec, Usage
from harness.models.usage import bytes_of
from harness.prices import Price, PriceTable
from harness.state import RunState

Pricing = Price | PriceTable | None

FRAME = 64
"""Bytes around one message in any dialect: role, keys and punctuation, rounded up."""


class UnknownPrice(ValueError):
    """A budget in USD is set and the price of the model is not known: nothing was sent."""


def price_of(pricing: Pricing, model: str) -> Price | None:
    """The price of a model, None where it is not known."""
    return pricing.get(model) if isinstance(pricing, PriceTable) else pricing


def cost_of(pricing: Pricing, model: str, usage: Usage) -> Decimal | None:
    """USD of one request, None where the price is not known."""
    price = price_of(pricing, model)
    return None if price is None else price.cost(usage)


def refuse_unpriced(pricing: Pricing, model: str) -> None:
    """Raise `UnknownPrice` where a budget could not be held against `model`."""
    if isinstance(pricing, PriceTable) and pricing.get(model) is None:
        raise UnknownPrice(pricing.missing(model))
    if pricing is None:
        raise UnknownPrice(
            f"a budget in USD needs the price of {model!r}: "
            "give price=Price(input, output) in USD per million tokens"
        )


def prompt_bound(state: RunState, tools: Sequence[ToolSpec]) -> int:
    """Tokens the next prompt has at most.

    The last reported prompt and completion, and the bytes of what is new since: a token is at
    least a byte. Without a report, the bytes of everything.
    """
    if not state.turns:
        return _bytes(state.messages) + len(msgspec.json.encode(tools))
    last = state.turns[-1]
    known = last.usage.prompt_tokens + last.usage.completion_tokens + FRAME
    return known + _bytes(state.messages[last.sent + 1 :])


def _bytes(messages: Sequence[Message]) -> int:
    return sum(len(msgspec.json.encode(message)) + FRAME for message in messages)


def estimated(reply: ModelReply, bound: int) -> Usage:
    """The usage of a reply that did not report any: its prompt's bound, a token per byte."""
    frames = FRAME * (1 + len(reply.calls))
    return Usage(bound, bytes_of(reply) + frames, estimated=True)
