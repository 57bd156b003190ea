"""Calls whose name, arguments or ids are not what they should be."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from fakeprovider.completion import Completion
from fakeprovider.faults.events import (
    argument_fragment,
    chat_calls,
    decode,
    encode,
    read_all,
    with_calls,
)
from fakeprovider.faults.kind import Draft, Param, Scene
from fakeprovider.faults.registry import fault
from fakeprovider.protocols.dialect import Frame
from fakeprovider.replies import Block, Finish, ToolCall


def _each(draft: Draft, change: Callable[[str], str], finish: Finish | None = None) -> Completion:
    """The reply with the arguments of every call changed."""
    blocks = (
        replace(block, arguments=change(block.arguments)) if isinstance(block, ToolCall) else block
        for block in draft.reply.blocks
    )
    return draft.with_blocks(*blocks, finish=finish or draft.reply.finish)


@fault(
    "malformed_arguments",
    hook="reply",
    group="content",
    line="Arguments that are no JSON (single quotes).",
    source="simonw/llm#1104, NousResearch/hermes-agent#83229",
    needs="a call",
)
def _malformed(draft: Draft) -> Completion:
    return _each(draft, _in_words)


def _in_words(arguments: str) -> str:
    """Single quotes in place of double ones; no JSON in any case."""
    return arguments.replace('"', "'") if '"' in arguments else "{not json}"


@fault(
    "truncated_arguments",
    hook="reply",
    group="content",
    line="Arguments that end in the middle, and a finish reason that may deny it.",
    source="vllm-project/vllm#46303, NousResearch/hermes-agent#7693, jaseci-labs/jac#6766",
    params=(
        Param("finish", "tool_calls", "the reason that is given", ("tool_calls", "length")),
        Param(
            "form",
            "cut",
            "cut anywhere, or valid JSON without its last member",
            ("cut", "valid"),
        ),
    ),
    needs="a call",
)
def _truncated(draft: Draft) -> Completion:
    shorten = _without_last if draft.values["form"] == "valid" else _half
    finish: Finish = draft.values["finish"]
    return _each(draft, shorten, finish)


def _half(arguments: str) -> str:
    """The first half, at least one character."""
    return arguments[: max(1, len(arguments) // 2)]


def _without_last(arguments: str) -> str:
    """Valid JSON that lacks the last of the arguments."""
    try:
        members = json.loads(arguments)
    except ValueError:
        return "{}"
    kept = dict(list(members.items())[:-1]) if isinstance(members, dict) else {}
    return json.dumps(kept, separators=(",", ":"), ensure_ascii=False)


@fault(
    "mistyped_arguments",
    hook="reply",
    group="content",
    line="Arguments of other types than the schema's.",
    source="coder/coder#28044, tashfeenahmed/freellmapi#193",
    params=(
        Param(
            "form",
            "values",
            "values of other types, an array, values as JSON in a text",
            ("values", "array", "encoded"),
        ),
    ),
    needs="a call",
)
def _mistyped(draft: Draft) -> Completion:
    change = {"values": _other_values, "array": _array, "encoded": _encoded}
    return _each(draft, change[draft.values["form"]])


def _other_values(arguments: str) -> str:
    """Texts become numbers, everything else becomes text."""
    return _mapped(arguments, lambda value: 1 if isinstance(value, str) else json.dumps(value))


def _encoded(arguments: str) -> str:
    """Arrays and objects come as text that holds their JSON, and so does a lone text."""
    return _mapped(arguments, lambda value: json.dumps(value, separators=(",", ":")))


def _mapped(arguments: str, change: Callable[[Any], Any]) -> str:
    """The arguments with each value changed; as they are if they are no JSON."""
    try:
        members = json.loads(arguments)
    except ValueError:
        return arguments
    if not isinstance(members, dict) or not members:
        return "[]"
    changed = {key: change(value) for key, value in members.items()}
    return json.dumps(changed, separators=(",", ":"), ensure_ascii=False)


def _array(arguments: str) -> str:
    """An array that holds the arguments."""
    return f"[{arguments}]"


def _emptied(draft: Draft) -> Completion:
    empty = "  " if draft.values["form"] == "spaces" else ""
    return _each(draft, lambda arguments: empty)


def _nothing_stream(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """Where nothing at all is said of arguments, not even that they are empty."""
    for event in read_all(frames):
        if scene.values["form"] != "none":
            yield event.frame
        elif calls := chat_calls(event):
            yield with_calls(event, [_without_arguments(call) for call in calls]).frame
        elif event.name != "content_block_delta" or argument_fragment(event) is None:
            yield event.frame


def _without_arguments(call: dict[str, Any]) -> dict[str, Any]:
    """A call of a chat message without its `arguments`."""
    function = {key: value for key, value in call["function"].items() if key != "arguments"}
    return {**call, "function": function}


@fault(
    "empty_arguments",
    hook="whole",
    group="content",
    line='Arguments of a tool that takes none: "", blanks, or not mentioned.',
    source="Kilo-Org/cloud#4753, yologdev/yoagent#153, langchain-ai/langchainjs#11383",
    params=(Param("form", "empty", "which of them", ("empty", "spaces", "none")),),
    needs="a call",
    reply=_emptied,
    stream=_nothing_stream,
)
def _nothing_whole(body: bytes, scene: Scene) -> bytes:
    if scene.values["form"] != "none" or scene.dialect.shape != "choices":
        return body
    data = decode(body)
    message = data["choices"][0]["message"]
    message["tool_calls"] = [_without_arguments(call) for call in message["tool_calls"]]
    return encode(data)


@fault(
    "unknown_tool",
    hook="reply",
    group="content",
    line="A call of a tool that does not exist.",
    source="openai/openai-agents-python#325, openonion/connectonion#1321",
    params=(Param("tool", "no_such_tool", "its name"),),
    needs="a call",
)
def _unknown(draft: Draft) -> Completion:
    first = draft.reply.calls[0]
    renamed = replace(first, name=draft.values["tool"])
    blocks = (renamed if block is first else block for block in draft.reply.blocks)
    return draft.with_blocks(*blocks, finish=draft.reply.finish)


@fault(
    "duplicate_ids",
    hook="reply",
    group="content",
    line="Two calls with one id in one reply.",
    source="NousResearch/hermes-agent#72766, can1357/oh-my-pi#2055",
    needs="a call",
)
def _same_ids(draft: Draft) -> Completion:
    """All calls have the id of the first; a lone call comes twice."""
    blocks: list[Block] = list(draft.reply.blocks)
    if len(draft.reply.calls) == 1:
        blocks += draft.reply.calls
    own = draft.reply.calls[0].id or f"fake{draft.conversation.position}"
    return _named(draft, blocks, own)


@fault(
    "constant_id",
    hook="reply",
    group="content",
    line="Calls of every turn have the same id.",
    source="fw-ai/fireconnect#16, open-webui/open-webui#28570",
    params=(Param("id", "call_0", "the id"),),
    needs="a call",
)
def _constant_id(draft: Draft) -> Completion:
    return _named(draft, list(draft.reply.blocks), draft.values["id"])


def _named(draft: Draft, blocks: list[Block], own: str) -> Completion:
    """The reply with one id for all calls."""
    named = (replace(block, id=own) if isinstance(block, ToolCall) else block for block in blocks)
    return draft.with_blocks(*named, finish=draft.reply.finish)
