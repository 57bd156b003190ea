"""A second, smaller model that says whether a goal is met: an opinion, cheap and bounded."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any, Literal

import msgspec

from fakeprovider_harness.budget import charging
from fakeprovider_harness.budget.charging import Pricing
from fakeprovider_harness.cancel import Cancel
from fakeprovider_harness.models.base import Message, Model, ModelError, ModelReply, Usage
from fakeprovider_harness.verify.verifier import Claim, Verdict, broken, failed, passed, unreachable

OpinionKind = Literal["met", "not_met", "impossible", "junk", "error"]

SYSTEM = (
    "You judge whether a goal is met. You see the end of a transcript of somebody else's work. "
    "Believe what tools returned, not what is claimed. "
    'Answer with one JSON object: {"verdict": "met" | "not_met" | "impossible", "reason": "..."}.'
)
MESSAGES = 20
CHARACTERS = 2_000
_OBJECT = re.compile(r"\{.*\}", re.S)


class Spending(msgspec.Struct, frozen=True):
    """One request of the evaluator's: tokens, and USD or None where its price is not known."""

    usage: Usage
    cost_usd: Decimal | None


class Opinion(msgspec.Struct, frozen=True):
    """What the evaluator said. `junk` is an answer that is none, `error` no answer at all."""

    kind: OpinionKind
    reason: str
    spent: tuple[Spending, ...] = ()


class Evaluator:
    """Asks `model`, at a `price` of its own, whether `goal` is met by a transcript.

    The prompt is bounded: the last `messages` messages, each cut to `characters`. As a verifier
    it charges what it spends to the run; junk and errors are errors of the check.
    """

    def __init__(
        self,
        model: Model,
        goal: str,
        *,
        price: Pricing = None,
        messages: int = MESSAGES,
        characters: int = CHARACTERS,
        max_output: int | None = 300,
    ) -> None:
        self._model, self._goal, self._price = model, goal, price
        self._messages, self._characters, self._max_output = messages, characters, max_output

    async def judge(self, transcript: Sequence[Message], cancel: Cancel | None = None) -> Opinion:
        """One request, one opinion; whatever was spent is on it, failures included."""
        prompt = self.prompt(transcript)
        bound = sum(len((message.content or "").encode()) + charging.FRAME for message in prompt)
        try:
            reply = await self._model.ask(prompt, (), max_output=self._max_output, cancel=cancel)
        except ModelError as error:
            partials = [attempt.partial for attempt in error.attempts] + [error.partial]
            return Opinion("error", str(error), self._spent(partials, bound))
        partials = [attempt.partial for attempt in reply.attempts] + [reply]
        spent = self._spent(partials, bound)
        return msgspec.structs.replace(_opinion(reply.text), spent=spent)

    def prompt(self, transcript: Sequence[Message]) -> list[Message]:
        """The request: the goal, and the end of the transcript in words."""
        lines = [self._line(message) for message in transcript[-self._messages :]]
        text = f"Goal: {self._goal}\n\nTranscript:\n" + "\n".join(lines)
        return [Message("system", SYSTEM), Message("user", text)]

    def _line(self, message: Message) -> str:
        calls = " ".join(f"{call.name}({call.arguments})" for call in message.calls)
        who = message.role if message.name is None else f"{message.role} {message.name}"
        return f"[{who}] {' '.join(filter(None, (message.content, calls)))}"[: self._characters]

    def _spent(self, replies: Sequence[ModelReply | None], bound: int) -> tuple[Spending, ...]:
        return tuple(self._priced(reply, bound) for reply in replies if reply is not None)

    def _priced(self, reply: ModelReply, bound: int) -> Spending:
        usage = reply.usage or charging.estimated(reply, bound)
        name = reply.model or self._model.name
        return Spending(usage, charging.cost_of(self._price, name, usage))

    async def __call__(self, claim: Claim) -> Verdict:
        prompt = self.prompt(claim.state.messages)
        reply = await claim.ask(prompt, self._model, self._price, self._max_output)
        opinion = Opinion("error", "no reply came") if reply is None else _opinion(reply.text)
        if opinion.kind == "met":
            return passed(said=opinion.reason)
        if opinion.kind == "not_met":
            return failed(opinion.reason)
        if opinion.kind == "impossible":
            return unreachable(opinion.reason)
        return broken(f"the evaluator's answer is {opinion.kind}: {opinion.reason}")


def _opinion(text: str) -> Opinion:
    """The verdict and reason in an evaluator's reply; `junk`, and the text, where there is none."""
    answer = _answer(text)
    verdict = answer.get("verdict")
    if verdict not in ("met", "not_met", "impossible"):
        return Opinion("junk", text[:200] or "(nothing)")
    return Opinion(verdict, str(answer.get("reason") or "no reason given"))


def _answer(text: str) -> dict[str, Any]:
    found = _OBJECT.search(text)
    try:
        data = json.loads(found.group()) if found else None
    except (ValueError, RecursionError):
        data = None
    return data if isinstance(data, dict) else {}
