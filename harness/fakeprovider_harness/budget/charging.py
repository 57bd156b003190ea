"""Prices, and what a request costs: as reported, else estimated upwards and flagged, never 0."""

from __future__ import annotations

import difflib
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import msgspec

from fakeprovider_harness.engine.transcript import clipped, shown
from fakeprovider_harness.models.base import Message, ModelReply, ToolSpec, Usage, bytes_of
from fakeprovider_harness.state import RunState

MILLION = Decimal(1_000_000)
_DEAREST_WRITE = 2
"""Times the input price: what Anthropic asks for a one-hour cache write ("Prompt caching", 2025),
the dearest write price that any service publishes."""

Amount = Decimal | str | int


class Price:
    """USD per million tokens of one model.

    `cached` is the price of a cached read, None where it is not known: then reads cost as much as
    fresh input. `cache_write` is the price of a cache write, None where it is not known: then
    writes cost twice the input. Both bound the bill from above. Amounts are Decimal, str or int;
    a float is refused, since 0.1 is not a tenth.
    """

    __slots__ = ("cache_write", "cached", "input", "output")

    def __init__(
        self,
        input: Amount,
        output: Amount,
        cached: Amount | None = None,
        cache_write: Amount | None = None,
    ) -> None:
        self.input = _amount("input", input)
        self.output = _amount("output", output)
        self.cached = None if cached is None else _amount("cached", cached)
        self.cache_write = None if cache_write is None else _amount("cache_write", cache_write)

    @property
    def write(self) -> Decimal:
        """USD per million tokens of a cache write, the dearest there is where it is not known."""
        return self.input * _DEAREST_WRITE if self.cache_write is None else self.cache_write

    def cost(self, usage: Usage) -> Decimal:
        """USD of one request, unrounded: see `cost`."""
        return cost(usage, self)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Price) and self._fields() == other._fields()

    def __hash__(self) -> int:
        return hash(self._fields())

    def __repr__(self) -> str:
        named = zip(("input", "output", "cached", "cache_write"), self._fields(), strict=True)
        return f"Price({', '.join(f'{k}={str(v)!r}' for k, v in named if v is not None)})"

    def _fields(self) -> tuple[Decimal | None, ...]:
        return self.input, self.output, self.cached, self.cache_write


class PriceTable:
    """Prices by exact model name. An unknown model has no price; it never costs nothing.

    `fallback` is used for every name that is not in the table. `as_of` and `source` say where the
    prices come from.
    """

    def __init__(
        self,
        prices: Mapping[str, Price] | None = None,
        *,
        fallback: Price | None = None,
        as_of: str = "",
        source: str = "",
    ) -> None:
        self._prices = dict(prices or {})
        self.fallback = fallback
        self.as_of = as_of
        self.source = source

    def get(self, model: str) -> Price | None:
        """The price of `model`, or None: a budget in force must then refuse to start."""
        return self._prices.get(model, self.fallback)

    def missing(self, model: str) -> str:
        """What to tell a user whose model has no price, near names included."""
        near = difflib.get_close_matches(model, self._prices, n=3)
        hint = f" (the table has {', '.join(near)})" if near else ""
        return f"no price for model {model!r}{hint}: add one, or give a fallback price"

    def __iter__(self) -> Iterator[str]:
        return iter(self._prices)

    def __len__(self) -> int:
        return len(self._prices)

    @classmethod
    def load(cls, path: str | Path) -> PriceTable:
        """Read a TOML or JSON file.

        It says `as_of` and `source`, and under `models.NAME` the fields of `Price`; a `fallback`
        is optional. Raises ValueError naming what is missing or not a number.
        """
        path = Path(path)
        data = _read(path)
        for key in ("as_of", "source", "models"):
            if not data.get(key):
                raise ValueError(f"{path}: a price file says {key}, since prices change")
        if not isinstance(data["models"], dict):
            raise ValueError(f"{path}: models is a table of names")
        prices = {name: _entry(path, name, entry) for name, entry in data["models"].items()}
        fallback = _entry(path, "fallback", data["fallback"]) if data.get("fallback") else None
        return cls(prices, fallback=fallback, as_of=str(data["as_of"]), source=str(data["source"]))


def cost(usage: Usage, price: Price) -> Decimal:
    """USD of one request, unrounded.

    `usage.prompt_tokens` includes the cached parts. Where these exceed it the discount is not
    believed (see `inconsistent`): the larger number is charged as fresh input, never less than 0.
    """
    written = usage.cache_write_tokens
    cached = 0 if inconsistent(usage) else usage.cached_tokens
    prompt = max(usage.prompt_tokens, usage.cached_tokens + written)
    read_price = price.input if price.cached is None else price.cached
    total = (
        (prompt - cached - written) * price.input
        + cached * read_price
        + written * price.write
        + usage.completion_tokens * price.output
    )
    return total / MILLION


def inconsistent(usage: Usage) -> bool:
    """Whether more tokens were reported as cached than the prompt has."""
    return usage.cached_tokens + usage.cache_write_tokens > usage.prompt_tokens


def _amount(field: str, value: Amount) -> Decimal:
    if isinstance(value, (float, bool)):
        raise TypeError(f"price {field}={value!r} is not exact: write it as a string")
    try:
        amount = Decimal(value)
    except InvalidOperation:
        raise ValueError(f"price {field}={value!r} is not a number") from None
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"price {field}={value!r} is not a price")
    return amount


def _read(path: Path) -> dict[str, Any]:
    text = path.read_text(encoding="utf-8")
    try:
        if path.suffix == ".toml":
            return tomllib.loads(text, parse_float=Decimal)
        data = json.loads(text, parse_float=Decimal)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if not isinstance(data, dict):
        raise ValueError(f"{path}: expected an object with as_of, source and models")
    return data


def _entry(path: Path, name: str, entry: Any) -> Price:
    try:
        return Price(**entry)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{path}: {name}: {error}") from error


Pricing = Price | PriceTable | None

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
