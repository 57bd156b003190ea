"""A script from YAML, which is a function of the conversation like any other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fakeprovider.catalogue import Closing, Target
from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.patterns import SlowPattern
from fakeprovider.replies import Reply
from fakeprovider.scripts.ending import ScriptRanOut, ran_out
from fakeprovider.yamlscripts.expectations import differences, drifted
from fakeprovider.yamlscripts.program import Lost, Program
from fakeprovider.yamlscripts.templates import Missing

View: TypeAlias = Callable[[Conversation], Conversation]


@dataclass(frozen=True)
class YamlScript:
    """A script, and how its calls and its last words are fitted to a client.

    tools: the explicit mapping of the catalogue. closing: the form of a final answer.
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
        turn = self.program.turn(view)
        if turn is None:
            raise ran_out(view)
        found = differences(turn.expect, view)
        if found:
            raise drifted(self.name, view.turn, found)
        case = turn.choose(view)
        if case is None:
            raise ScriptRanOut(
                f"no case of turn {view.turn} holds; the last message is "
                f"{view.messages[-1].role!r}: {view.messages[-1].text[:80]!r}"
            )
        return case.speech.reply(view)

    def _view(self, conversation: Conversation) -> Conversation:
        turn = conversation.turn
        if self.turn_from == "last_user":
            turn = conversation.since_last_user
        if turn == conversation.turn and self.turn_offset == 0:
            return conversation
        return replace(conversation, turn=max(0, turn - self.turn_offset))

    def _failed(self, view: Conversation, why: str) -> ApiError:
        message = f"Script {self.name!r}, turn {view.turn}: {why}."
        return ApiError(400, message, code="script_failed", retry=False)
