"""Turns in a row, with loops and jumps: which of them a conversation has come to.

Nothing is kept between requests. Where each turn leads to one place, the place of turn n follows
from n alone. Where a condition decides where to go on, the conversation is gone through from its
first turn, each time as it stood then.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from fakeprovider.conversation import Conversation
from fakeprovider.yamlscripts.conditions import Condition
from fakeprovider.yamlscripts.speech import Speech

END = "end"
"""The label after the last turn."""


class Lost(ValueError):
    """The way to the present turn cannot be told from this conversation."""


@dataclass(frozen=True, slots=True)
class Case:
    """One reply to choose, when it holds (None: always), and where to go on ("": at the next)."""

    speech: Speech
    when: Condition | None = None
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
        if any(len(found) > 1 for found in targets):
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
        place = 0
        for number in range(conversation.turn):
            if place == len(self.turns):
                return place
            place = self._step(place, number, conversation)
        return place

    def _step(self, place: int, number: int, conversation: Conversation) -> int:
        turn = self.turns[place]
        if len(self.after_turn(place)) == 1:
            return self._next(place, turn.cases[0])
        case = turn.choose(_as_it_was(conversation, number))
        if case is None:
            raise Lost(f"no case of turn {number} holds, though it was answered")
        return self._next(place, case)


def _as_it_was(conversation: Conversation, number: int) -> Conversation:
    """The conversation when turn `number` was asked for."""
    spoken = [i for i, one in enumerate(conversation.messages) if one.role == "assistant"]
    first = len(spoken) - conversation.turn
    if first < 0:
        raise Lost(
            f"where turn {conversation.turn} leads depends on turn {number}, and the history "
            f"holds only {len(spoken)} assistant messages"
        )
    return replace(
        conversation, messages=conversation.messages[: spoken[first + number]], turn=number
    )
