"""What a request costs: reported where it was, else estimated upwards and flagged, never 0."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import msgspec

from fakeprovider_harness.budget.prices import Price, PriceTable
from fakeprovider_harness.engine.view import shown
from fakeprovider_harness.models.base import Message, ModelReply, ToolSpec, Usage
from fakeprovider_harness.models.usage import bytes_of
from fakeprovider_harness.state import RunState
from fakeprovider_harness.tooling.truncation import clipped

Pricing = Price | PriceTable | None

MILLION = Decimal(1_000_000)

FRAME = 64
"""Bytes around one message in any dialect: role, keys and punctuation, rounded up."""


class UnknownPrice(ValueError):
    """A budget in USD is set and the price of the model is not known: nothing was sent."""


def refuse_no_price(pricing: object) -> None:
    """Raise `TypeError` for what is neither a price, nor a table of prices, nor None."""
    if not isinstance(pricing, Pricing):
        raise TypeError(
            "price is Price(input, output) in USD per million tokens, such as Price('2', '12'), "
            f"a PriceTable, or None; not {pricing!r}"
        )


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


def rates(price: Price) -> tuple[Decimal, Decimal]:
    """USD per token at most: of the prompt, where it may be written to a cache, and of output."""
    return max(price.input, price.write) / MILLION, price.output / MILLION


def worst(price: Price | None, prompt: int, output: int) -> Decimal:
    """USD that so many tokens cost at most; 0 without a price, which a budget refuses before."""
    if price is None:
        return Decimal(0)
    into, out = rates(price)
    return prompt * into + output * out


def prompt_bound(state: RunState, tools: Sequence[ToolSpec], max_result: int | None = None) -> int:
    """Tokens the next prompt has at most, if it carries `max_result` characters of each result.

    The last reported prompt and completion, and the bytes of what is new since: a token is at
    least a byte. Without a report, and after a change of what is shown, the bytes of everything.
    """
    if not state.turns or state.view.turn == len(state.turns):
        carried = [clipped(message, max_result) for message in shown(state.messages, state.view)]
        return bytes_of_all(carried) + bytes_of_tools(tools)
    last = state.turns[-1]
    frames = FRAME * (1 + last.calls)
    known = last.usage.prompt_tokens + last.usage.completion_tokens + frames
    new = [clipped(message, max_result) for message in state.messages[last.sent + 1 :]]
    return known + bytes_of_all(new)


def bytes_of_all(messages: Sequence[Message]) -> int:
    """Bytes of messages in any dialect, rounded up: their tokens are at most as many."""
    return sum(len(msgspec.json.encode(message)) + FRAME for message in messages)


def bytes_of_tools(tools: Sequence[ToolSpec]) -> int:
    """Bytes of the tools as they are described in a request."""
    return len(msgspec.json.encode(tools)) if tools else 0


def estimated(reply: ModelReply, bound: int) -> Usage:
    """The usage of a reply that did not report any: its prompt's bound, a token per byte."""
    frames = FRAME * (1 + len(reply.calls))
    return Usage(bound, bytes_of(reply) + frames, estimated=True)
