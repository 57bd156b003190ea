"""A run as its exchanges tell it: steps with their attempts, calls with their results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from fakeprovider.journal import Called, Exchange, Heard
from fakeprovider.verdict.facts import Facts

_NO_REQUEST_PATHS = ("/count_tokens", "/input_tokens", "/embeddings")
_ANSWERS = frozenset({"stop", "stop_sequence", "refusal", "content_filter"})


@dataclass(frozen=True, slots=True)
class Step:
    """One request of the loop with its retries: the same body, as long as it had no whole reply."""

    attempts: tuple[Exchange, ...]

    @property
    def last(self) -> Exchange:
        """The attempt that settled it, or the last that was made."""
        return self.attempts[-1]

    @property
    def gaps(self) -> list[float]:
        """Seconds between the end of an attempt and the next one."""
        pairs = zip(self.attempts, self.attempts[1:], strict=False)
        return [later.started - earlier.started - earlier.ms / 1000 for earlier, later in pairs]


@dataclass(frozen=True, slots=True)
class Pair:
    """A call that was answered: the exchange that showed it, the call, the result."""

    exchange: Exchange
    call: Called
    result: Heard


class Run:
    """The exchanges of one run, in the order in which they were started, and facts beside them."""

    def __init__(self, exchanges: Iterable[Exchange], facts: Facts) -> None:
        self.exchanges: Sequence[Exchange] = sorted(
            exchanges, key=lambda exchange: (exchange.started, exchange.number)
        )
        self.facts = facts

    @cached_property
    def requests(self) -> list[Exchange]:
        """Requests to the model; not counts of tokens, nor what was no request at all."""
        return [
            exchange
            for exchange in self.exchanges
            if exchange.turn is not None
            and not exchange.path.partition("?")[0].endswith(_NO_REQUEST_PATHS)
        ]

    @cached_property
    def loop(self) -> list[Exchange]:
        """Requests of the loop itself, without side requests."""
        return [exchange for exchange in self.requests if not exchange.side]

    @cached_property
    def steps(self) -> list[Step]:
        """The loop's requests, retries put together."""
        steps: list[list[Exchange]] = []
        unsettled: dict[str, list[Exchange]] = {}
        for exchange in self.loop:
            attempts = unsettled.pop(exchange.digest, None)
            if attempts is None:
                attempts = []
                steps.append(attempts)
            attempts.append(exchange)
            if exchange.broken:
                unsettled[exchange.digest] = attempts
        return [Step(tuple(attempts)) for attempts in steps]

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every answered call once, in the order in which the results were sent."""
        return [pair for step in self.steps for pair in _pairs(step.attempts[0])]

    def results_of(self, call_id: str, after: Exchange) -> list[Pair]:
        """What was sent back for a call after an exchange."""
        return [
            pair
            for pair in self.pairs
            if pair.call.id == call_id
            and pair.exchange.started >= after.started
            and pair.exchange is not after
        ]


def _pairs(exchange: Exchange) -> Iterator[Pair]:
    """The results that came with a request, each with its call."""
    calls = {call.id: call for heard in exchange.heard for call in heard.calls}
    for heard in exchange.heard:
        if heard.role == "tool":
            call = calls.get(heard.call_id, Called(heard.call_id, "", ""))
            yield Pair(exchange, call, heard)


def answers(exchange: Exchange) -> bool:
    """Whether the reply was whole and a final answer: text, no calls, and an end that is one."""
    return (
        exchange.said > 0
        and not exchange.broken
        and not exchange.calls
        and exchange.finish in _ANSWERS
    )


def user_spoke(exchange: Exchange) -> bool:
    """Whether the user said something after the last assistant turn."""
    return any(heard.opens for heard in exchange.heard)


def repeats(exchange: Exchange, answer: Exchange) -> bool:
    """Whether the last assistant turn of a request is, word for word, that answer."""
    if not exchange.heard:
        return False
    turn = exchange.heard[0]
    return turn.role == "assistant" and not turn.calls and turn.text == answer.text
