"""Any catalogue: what a script's tool calls become for a client that offers other tools.

In this order: an explicit mapping, the client's preset, the first offered tool whose name says
that it only reads (with the smallest arguments its schema admits), else a short plain answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation, Offered
from fakeprovider.fitting.arguments import Unsatisfiable, admits, parsed, smallest_arguments
from fakeprovider.fitting.client_presets import PRESETS, Preset
from fakeprovider.fitting.tool_names import only_reads
from fakeprovider.replies import Block, Reply, Text, ToolCall, call

UNKNOWN_ON_PURPOSE = frozenset({"unknown_tool", "as_written"})
"""Faults that consist in a call of a tool that is not offered: it goes out as it is."""


@dataclass(frozen=True, slots=True)
class Target:
    """The tool that a mapping names, and its arguments (None: the script's own, if they fit)."""

    tool: str
    arguments: Mapping[str, Any] | None = None


Tools: TypeAlias = Mapping[str, Target]
"""From the name that a script asks for to what it is to become."""

Closing: TypeAlias = Callable[[str, Conversation], ToolCall | None]
"""From a final answer to the call by which a client ends its run; None if words will do."""


@dataclass(frozen=True, slots=True)
class Note:
    """What was changed in a reply: the rule by its name in the journal, and why."""

    rule: str
    detail: str


@dataclass(frozen=True, slots=True)
class Fitted:
    """A reply that the client can act on, and what had to be changed for that."""

    reply: Reply
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Catalogue:
    """How to fit a script's calls, and its final answer, to the tools that a client offers.

    `closing` is the form of a final answer, None for that of the client.
    """

    tools: Tools = field(default_factory=dict)
    client: Preset | None = None
    closing: Closing | None = None

    def for_client(self, name: str) -> Catalogue:
        """This catalogue for the client of that name; "" leaves the client as it is."""
        return replace(self, client=PRESETS[name]) if name else self

    def for_script(self, script: object) -> Catalogue:
        """This catalogue for a script that has `tools` and `closing` of its own, as YAML's have.

        What is said here about a tool comes before what the script says.
        """
        tools = getattr(script, "tools", None)
        closing = getattr(script, "closing", None)
        if not tools and closing is None:
            return self
        return replace(self, tools={**(tools or {}), **self.tools}, closing=self.closing or closing)

    def view(self, conversation: Conversation) -> Conversation:
        """The conversation less the assistant messages that the client made up."""
        if self.client is None or self.client.made_up is None:
            return conversation
        return replace(
            conversation, turn=max(0, conversation.turn - self.client.made_up(conversation))
        )

    def fit(self, reply: Reply, conversation: Conversation) -> Fitted:
        """The reply with every call of a tool that is offered, or as a short plain answer."""
        fitted = self._fit_calls(reply, conversation)
        closing = self.closing or (self.client and self.client.closing)
        closed = _closed(fitted.reply, closing, conversation) if closing else None
        return fitted if closed is None else Fitted(closed, fitted.notes)

    def _fit_calls(self, reply: Reply, conversation: Conversation) -> Fitted:
        if all(conversation.offers(asked.name) for asked in reply.calls):
            return Fitted(reply)
        if reply.fault is not None and reply.fault.name in UNKNOWN_ON_PURPOSE:
            return Fitted(reply)
        blocks: list[Block] = []
        notes: list[Note] = []
        for block in reply.blocks:
            if isinstance(block, ToolCall) and not conversation.offers(block.name):
                fitting = self._stand_in(block, conversation, notes)
                blocks += [] if fitting is None else [fitting]
            else:
                blocks.append(block)
        return _assembled(reply, blocks, notes)

    def _stand_in(
        self, asked: ToolCall, conversation: Conversation, notes: list[Note]
    ) -> ToolCall | None:
        found = self._known(asked, conversation) or _reader(asked, conversation)
        if isinstance(found, str):
            notes.append(Note("call_dropped", found))
            return None
        fitting, why = found
        notes.append(
            Note(
                "call_replaced",
                f"{asked.name} is not offered: {fitting.name} {fitting.arguments} instead ({why})",
            )
        )
        return replace(fitting, id=asked.id)

    def _known(self, asked: ToolCall, conversation: Conversation) -> tuple[ToolCall, str] | None:
        """What the mapping, else the preset, has for this call."""
        target = self.tools.get(asked.name)
        if target is not None and conversation.offers(target.tool):
            return _mapped(asked, target, conversation), "mapping"
        if self.client is None:
            return None
        fitting = self.client.stand_in(asked, conversation)
        return None if fitting is None else (fitting, f"preset {self.client.name}")


def _mapped(asked: ToolCall, target: Target, conversation: Conversation) -> ToolCall:
    """The mapping is the author's word: its arguments go out unchecked."""
    if target.arguments is not None:
        return call(target.tool, target.arguments)
    offered = next(tool for tool in conversation.tools if tool.name == target.tool)
    return ToolCall(target.tool, _own_or_smallest(asked, offered))


def _own_or_smallest(asked: ToolCall, offered: Offered) -> str:
    arguments = parsed(asked.arguments)
    if arguments is not None and admits(offered.parameters, arguments):
        return asked.arguments
    try:
        return call(offered.name, smallest_arguments(offered.parameters)).arguments
    except Unsatisfiable:
        return asked.arguments  # nothing fits; the client shall say so


def _reader(asked: ToolCall, conversation: Conversation) -> tuple[ToolCall, str] | str:
    """The first offered tool that only reads, or the reason why there is none."""
    if not conversation.tools:
        return f"the script asks for {asked.name}, and no tools are offered"
    problems = []
    for offered in conversation.tools:
        if only_reads(offered.name):
            try:
                arguments = smallest_arguments(offered.parameters)
            except Unsatisfiable as error:
                problems.append(f"{offered.name} cannot be called: {error}")
                continue
            return call(offered.name, arguments), "its name says that it only reads"
    return "; ".join(
        [
            f"the script asks for {asked.name}, which is not offered, and no offered tool's name "
            "says that it only reads; give a mapping or a client preset",
            *problems,
        ]
    )


def _assembled(reply: Reply, blocks: list[Block], notes: list[Note]) -> Fitted:
    if any(isinstance(block, ToolCall) for block in blocks):
        return Fitted(replace(reply, blocks=tuple(blocks)), tuple(notes))
    why = "; ".join(note.detail for note in notes)
    plain = Text(f"I stop here: {why}.")
    finish = None if reply.finish == "tool_calls" else reply.finish
    answer = replace(reply, blocks=(*blocks, plain), finish=finish)
    return Fitted(answer, (Note("plain_answer", why),))


def _closed(reply: Reply, closing: Closing, conversation: Conversation) -> Reply | None:
    """A final answer in the form in which the client ends its run; None for anything else."""
    if reply.calls or reply.finish not in (None, "stop") or not reply.text:
        return None
    last = closing(reply.text, conversation)
    if last is None:
        return None
    kept = tuple(block for block in reply.blocks if not isinstance(block, Text))
    return replace(reply, blocks=(*kept, last), finish=None)
