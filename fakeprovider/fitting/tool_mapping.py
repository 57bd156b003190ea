"""What a script's tool calls become for a client that offers other tools.

In this order: an explicit mapping, the client's preset, the first offered tool whose name says
that it only reads (with the smallest arguments its schema admits), else a short plain answer.

A name says so only if its first word does and no word of it says anything else: a tool that
writes, deletes, executes or sends must never be called because its name was misread.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.fitting.client_presets import PRESETS, Preset
from fakeprovider.replies import Block, Reply, Text, ToolCall, arguments_object, call

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
class ToolMapping:
    """How to fit a script's calls, and its final answer, to the tools that a client offers.

    `closing` is the form of a final answer, None for that of the client.
    """

    tools: Tools = field(default_factory=dict)
    client: Preset | None = None
    closing: Closing | None = None

    def for_client(self, name: str) -> ToolMapping:
        """This mapping for the client of that name; "" leaves the client as it is."""
        return replace(self, client=PRESETS[name]) if name else self

    def for_script(self, script: object) -> ToolMapping:
        """This mapping for a script that has `tools` and `closing` of its own, as YAML's have.

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
        """The reply with a substitute for each call of a tool that is not offered."""
        if all(conversation.offers(wanted.name) for wanted in reply.calls):
            return Fitted(reply)
        if reply.fault is not None and reply.fault.name in UNKNOWN_ON_PURPOSE:
            return Fitted(reply)
        blocks: list[Block] = []
        notes: list[Note] = []
        for block in reply.blocks:
            if isinstance(block, ToolCall) and not conversation.offers(block.name):
                substitute = self._substitute(block, conversation, notes)
                blocks += [] if substitute is None else [substitute]
            else:
                blocks.append(block)
        return _assembled(reply, blocks, notes)

    def _substitute(
        self, wanted: ToolCall, conversation: Conversation, notes: list[Note]
    ) -> ToolCall | None:
        """The call that takes this one's place, None for none; notes what was done and why."""
        choice = self._mapped(wanted, conversation) or _reading_call(wanted, conversation)
        if isinstance(choice, str):
            notes.append(Note("call_dropped", choice))
            return None
        substitute, why = choice
        instead = f"{substitute.name} {substitute.arguments} instead ({why})"
        notes.append(Note("call_replaced", f"{wanted.name} is not offered: {instead}"))
        return replace(substitute, id=wanted.id)

    def _mapped(self, wanted: ToolCall, conversation: Conversation) -> tuple[ToolCall, str] | None:
        """What the mapping, else the preset, has for this call, and which of them."""
        target = self.tools.get(wanted.name)
        if target is not None and conversation.offers(target.tool):
            return _call_of_target(wanted, target, conversation), "mapping"
        if self.client is None:
            return None
        stand_in = self.client.stand_in(wanted, conversation)
        return None if stand_in is None else (stand_in, f"preset {self.client.name}")


def _call_of_target(wanted: ToolCall, target: Target, conversation: Conversation) -> ToolCall:
    """The mapping is the author's word: its arguments go out unchecked."""
    if target.arguments is not None:
        return call(target.tool, target.arguments)
    from fakeprovider.fitting.arguments import Unsatisfiable, admits, smallest_arguments

    offered = next(tool for tool in conversation.tools if tool.name == target.tool)
    arguments = arguments_object(wanted.arguments)
    if arguments is not None and admits(offered.parameters, arguments):
        return ToolCall(target.tool, wanted.arguments)
    try:
        return call(target.tool, smallest_arguments(offered.parameters))
    except Unsatisfiable:
        return ToolCall(target.tool, wanted.arguments)  # nothing fits; the client shall say so


def _reading_call(wanted: ToolCall, conversation: Conversation) -> tuple[ToolCall, str] | str:
    """A call of the first offered tool that only reads, or the reason why there is none."""
    if not conversation.tools:
        return f"the script asks for {wanted.name}, and no tools are offered"
    from fakeprovider.fitting.arguments import Unsatisfiable, smallest_arguments

    problems = []
    for offered in filter(lambda tool: only_reads(tool.name), conversation.tools):
        try:
            arguments = smallest_arguments(offered.parameters)
        except Unsatisfiable as error:
            problems.append(f"{offered.name} cannot be called: {error}")
        else:
            return call(offered.name, arguments), "its name says that it only reads"
    none_reads = (
        f"the script asks for {wanted.name}, which is not offered, and no offered tool's name "
        "says that it only reads; give a mapping or a client preset"
    )
    return "; ".join([none_reads, *problems])


def _assembled(reply: Reply, blocks: list[Block], notes: list[Note]) -> Fitted:
    """The reply of these blocks; where no call is left, a short plain answer."""
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


_READS = """
    list ls dir read cat get view show search grep glob find lookup look stat status info describe
    inspect count head tail peek tree
"""
_ACTS = """
    write append create make add insert new put post set save store upload edit modify change
    update upsert patch apply fix replace rename move mv copy cp delete remove rm unlink erase
    clear reset drop truncate purge wipe destroy kill stop start restart reboot launch spawn exec
    execute run invoke eval shell bash sh cmd command terminal sql send publish push commit merge
    deploy release submit reply respond forward approve accept reject deny grant revoke share
    invite subscribe unsubscribe install uninstall enable disable toggle mark lock unlock open
    close pay charge refund transfer buy sell order book cancel fetch download web http url browse
    browser mutate process sync import generate schedule assign archive restore rotate encrypt
    decrypt format play record watch wait sleep block allow
"""

READS = frozenset(_READS.split())
"""First words of names of tools that only read."""

ACTS = frozenset(_ACTS.split())
"""Words that say that a tool does something, or that its call leaves the machine."""

_NAMESPACE = re.compile(r"__|[.:/]")
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


def only_reads(name: str) -> bool:
    """Whether the name says that its tool only reads.

    `mcp__files__read_file`, `ListFiles`, `Glob` do; `read_and_delete`, `todo_read`, `bash` do not.
    """
    words = words_of(_NAMESPACE.split(name)[-1])
    return bool(words) and words[0] in READS and not ACTS.intersection(words)


def words_of(name: str) -> list[str]:
    """The words of a name in snake, kebab or camel case, in lower case."""
    return [word.lower() for word in _WORD.findall(name)]
