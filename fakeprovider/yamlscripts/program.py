"""Turns in a row, with loops and jumps: which of them a conversation has come to.

Nothing is kept between requests. Where each turn leads to one place, the place of turn n follows
from n alone. Where a condition decides where to go on, the conversation is gone through from its
first turn, each time as it stood then."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.fitting.tool_mapping import Closing, Target
from fakeprovider.recording.patterns import SlowPattern
from fakeprovider.replies import Reply
from fakeprovider.scripts.reply_sequence import ScriptRanOut, ran_out
from fakeprovider.yamlscripts.conditions import Predicate
from fakeprovider.yamlscripts.expectations import differences, drifted
from fakeprovider.yamlscripts.speech import Speech
from fakeprovider.yamlscripts.templates import Missing

END = "end"
"""The label after the last turn."""


class Lost(ValueError):
    """The way to the present turn cannot be told from this conversation."""


@dataclass(frozen=True, slots=True)
class Case:
    """One reply to choose, when it holds (None: always), and where to go on ("": at the next)."""

    speech: Speech
    when: Predicate | None = None
    goto: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """The replies of one turn, and what the request must be."""

    cases: tuple[Case, ...]
    expect: Mapping[str, Any] = field(default_factory=dict)

    def choose(self, conversation: Conversation) -> Case | None:
        """The first case that holds."""
        for case in self.cases:
            if case.when is None or case.when(conversation):
                return case
        return None


@dataclass(frozen=True)
class Program:
    """Turns, and after each the place of the next unless a case says otherwise.

    Places count from 0; the number of turns is the end. `after` is the place after each turn,
    `labels` are places by name.
    """

    turns: tuple[Turn, ...]
    after: tuple[int, ...]
    labels: Mapping[str, int] = field(default_factory=dict)

    def turn(self, conversation: Conversation) -> Turn | None:
        """The turn that the conversation has come to, None past the end. Raises `Lost`."""
        if self._fixed is None:
            place = self._follow(conversation)
        else:
            steps, start = self._fixed
            number = conversation.turn
            if number >= len(steps):  # from `start` on, the places repeat
                number = start + (number - start) % (len(steps) - start)
            place = steps[number]
        return self.turns[place] if place < len(self.turns) else None

    @property
    def length(self) -> int | None:
        """How many turns it takes to the end, None if it has none or that depends."""
        if self._fixed is None:
            return None
        steps, start = self._fixed
        return start if steps[start] == len(self.turns) else None

    @cached_property
    def _fixed(self) -> tuple[list[int], int] | None:
        """The places in order until they repeat, and where they repeat from; None if it varies."""
        targets = [self.after_turn(place) for place in range(len(self.turns))]
        if any(len(places) > 1 for places in targets):
            return None
        steps, place = [0], 0
        while place < len(self.turns):
            place = next(iter(targets[place]))
            if place in steps:
                return steps, steps.index(place)
            steps.append(place)
        return steps, len(steps) - 1  # the end follows itself

    def after_turn(self, place: int) -> set[int]:
        """The places that the turn at `place` may lead to."""
        return {self._next(place, case) for case in self.turns[place].cases}

    def _next(self, place: int, case: Case) -> int:
        if case.goto == END:
            return len(self.turns)
        return self.labels[case.goto] if case.goto else self.after[place]

    def _follow(self, conversation: Conversation) -> int:
        """The place that the conversation has come to, step by step from the first turn."""
        place = 0
        for number in range(conversation.turn):
            if place == len(self.turns):
                return place
            place = self._step(place, number, conversation)
        return place

    def _step(self, place: int, number: int, conversation: Conversation) -> int:
        """The place after turn `number`, which stood at `place`."""
        turn = self.turns[place]
        if len(self.after_turn(place)) == 1:
            return self._next(place, turn.cases[0])
        case = turn.choose(_as_it_was(conversation, number))
        if case is None:
            raise Lost(f"no case of turn {number} holds, though it was answered")
        return self._next(place, case)


def _as_it_was(conversation: Conversation, number: int) -> Conversation:
    """The conversation when turn `number` was asked for."""
    spoken = [
        place for place, message in enumerate(conversation.messages) if message.role == "assistant"
    ]
    first = len(spoken) - conversation.turn
    if first < 0:
        raise Lost(
            f"where turn {conversation.turn} leads depends on turn {number}, and the history "
            f"holds only {len(spoken)} assistant messages"
        )
    return replace(
        conversation, messages=conversation.messages[: spoken[first + number]], turn=number
    )


@dataclass(frozen=True)
class YamlScript:
    """A script, and how its calls and its last words are fitted to a client.

    tools: the client's tool to call for one of the script's. closing: the form of a final answer.
    """

    name: str
    description: str
    program: Program = field(repr=False)
    turn_from: str = "start"
    turn_offset: int = 0
    tools: Mapping[str, Target] = field(default_factory=dict)
    closing: Closing | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "__doc__", self.description)  # what lists show of any script

    def __call__(self, conversation: Conversation) -> Reply:
        """The reply; raises `ApiError` for a request that drifted, `ScriptRanOut` at the end."""
        view = self._view(conversation)
        try:
            return self._reply(view)
        except (Lost, Missing, SlowPattern) as error:
            raise self._failed(view, str(error)) from None

    def _reply(self, view: Conversation) -> Reply:
        """The reply of the turn that the conversation has come to."""
        turn = self.program.turn(view)
        if turn is None:
            raise ran_out(view)
        unmet = differences(turn.expect, view)
        if unmet:
            raise drifted(self.name, view.turn, unmet)
        case = turn.choose(view)
        if case is None:
            raise ScriptRanOut(
                f"no case of turn {view.turn} holds; the last message is "
                f"{view.messages[-1].role!r}: {view.messages[-1].text[:80]!r}"
            )
        return case.speech.reply(view)

    def _view(self, conversation: Conversation) -> Conversation:
        """The conversation with its turns counted as the script counts them."""
        turn = conversation.turn
        if self.turn_from == "last_user":
            turn = conversation.since_last_user
        if turn == conversation.turn and self.turn_offset == 0:
            return conversation
        return replace(conversation, turn=max(0, turn - self.turn_offset))

    def _failed(self, view: Conversation, why: str) -> ApiError:
        message = f"Script {self.name!r}, turn {view.turn}: {why}."
        return ApiError(400, message, code="script_failed", retry=False)
