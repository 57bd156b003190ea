"""Hypothesis strategies: what a model may say, what may go wrong, what a client may send.

Needs Hypothesis. Examples shrink to short scripts that print as Python (`Replies.to_yaml()` gives
YAML), ready to paste. In process (`fake_provider.run(..., in_process=True)`) a property has
thousands of examples; over a socket give it a handful.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from fakeprovider.conversation import Offered
from fakeprovider.faults import FAULTS, Kind
from fakeprovider.replies import Fault, Refusal, Reply, Text, ToolCall, call
from fakeprovider.scripts.reply_sequence import Replies

Messages: TypeAlias = list[dict[str, Any]]
"""Chat messages, as a client sends them."""

TOOLS = (
    Offered("list_files", "List the files.", {"type": "object", "properties": {}}),
    Offered(
        "read_file",
        "Read one file.",
        {"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]},
    ),
)
"""What scripts ask for by default."""

_WORDS = ("a", "b.txt", "x y", "0", "été", "👍", 'say "hi"', "line\nline")
_NAMES = ("list_files", "read_file", "search", "run_tests", "get_weather")
_TYPES: dict[str, SearchStrategy[Any]] = {
    "string": st.sampled_from(_WORDS),
    "integer": st.integers(-3, 100),
    "boolean": st.booleans(),
    "number": st.integers(0, 4).map(lambda whole: whole / 2),
}


def texts() -> SearchStrategy[str]:
    """A few words, some of them awkward: quotes, line ends, other scripts, emoji."""
    return st.lists(st.sampled_from(_WORDS), min_size=1, max_size=3).map(" ".join)


def tool_schemas() -> SearchStrategy[Offered]:
    """Tools with up to three arguments, some of them required."""
    return st.builds(_tool, st.sampled_from(_NAMES), _properties(), st.integers(0, 3))


def _properties() -> SearchStrategy[dict[str, dict[str, str]]]:
    kinds = st.sampled_from(sorted(_TYPES)).map(lambda kind: {"type": kind})
    return st.dictionaries(st.sampled_from(("path", "count", "deep", "q")), kinds, max_size=3)


def _tool(name: str, properties: dict[str, dict[str, str]], required: int) -> Offered:
    schema = {
        "type": "object",
        "properties": properties,
        "required": sorted(properties)[:required],
    }
    return Offered(name, f"The tool {name}.", schema)


@st.composite
def calls(draw: st.DrawFn, tools: Sequence[Offered] = TOOLS) -> ToolCall:
    """A call of one of the tools, with arguments that fit its schema."""
    tool = draw(st.sampled_from(tools))
    schema = tool.parameters or {}
    required = schema.get("required", [])
    arguments = {
        name: draw(_TYPES[declared["type"]])
        for name, declared in schema.get("properties", {}).items()
        if name in required or draw(st.booleans())
    }
    return call(tool.name, arguments)


def replies(tools: Sequence[Offered] = TOOLS) -> SearchStrategy[Reply]:
    """A reply that a service may send: an answer, or calls, some with words before them."""
    return answers() | asking(tools)


def answers() -> SearchStrategy[Reply]:
    """A final answer in words."""
    return texts().map(lambda text: Reply((Text(text),)))


@st.composite
def asking(draw: st.DrawFn, tools: Sequence[Offered] = TOOLS, most: int = 3) -> Reply:
    """A reply of one to `most` calls, perhaps after some words."""
    drawn = draw(st.lists(calls(tools), min_size=1, max_size=most))
    words = (Text(draw(texts())),) if draw(st.booleans()) else ()
    return Reply((*words, *drawn))


def scripts(tools: Sequence[Offered] = TOOLS) -> SearchStrategy[Replies]:
    """Any script: one that ends, one that does not, one that means no good."""
    return finite_scripts(tools) | looping_scripts(tools) | adversarial_scripts(tools)


@st.composite
def finite_scripts(draw: st.DrawFn, tools: Sequence[Offered] = TOOLS, most: int = 6) -> Replies:
    """Calls for up to `most` turns, then an answer."""
    before = draw(st.lists(asking(tools), max_size=most))
    return Replies(*before, draw(answers()))


@st.composite
def looping_scripts(draw: st.DrawFn, tools: Sequence[Offered] = TOOLS, period: int = 3) -> Replies:
    """Calls for ever: a few turns, then up to `period` turns again and again."""
    before = draw(st.lists(asking(tools), max_size=2))
    loop = draw(st.lists(asking(tools), min_size=1, max_size=period))
    return Replies(*before, *loop, again=len(before))


@st.composite
def adversarial_scripts(
    draw: st.DrawFn, tools: Sequence[Offered] = TOOLS, most: int = 4
) -> Replies:
    """What a loop must survive, for ever or until an answer: cut replies, malformed arguments,
    unknown tools, empty replies, refusals, many calls at once, each as services really send them.
    """
    bad = draw(st.lists(_awkward(tools), min_size=1, max_size=most))
    if draw(st.booleans()):
        return Replies(*bad, again=draw(st.integers(0, len(bad) - 1)))
    return Replies(*bad, draw(answers()))


def _awkward(tools: Sequence[Offered]) -> SearchStrategy[Reply]:
    """A reply that a loop may trip over."""
    a_call = calls(tools)
    return st.one_of(
        asking(tools),
        a_call.map(lambda call: Reply((call,), finish="length")),
        texts().map(lambda text: Reply((Text(text),), finish="length")),
        a_call.map(lambda call: Reply((call,), fault=Fault("malformed_arguments"))),
        a_call.map(lambda call: Reply((call,), fault=Fault("truncated_arguments"))),
        st.just(Reply((ToolCall("no_such_tool"),), fault=Fault("unknown_tool"))),
        st.just(Reply((Text(" "),), fault=Fault("empty_reply"))),
        texts().map(lambda text: Reply((Refusal(text),))),
        st.lists(a_call, min_size=4, max_size=8).map(lambda several: Reply(tuple(several))),
    )


def faults(
    *, dialect: str = "chat", groups: Sequence[str] = (), patient: bool = False
) -> SearchStrategy[Fault]:
    """A fault that strikes one of the first turns, once or twice, in this dialect.

    `groups` are those of `fakeprovider faults` (all without). Faults that keep a client waiting
    are left out unless it is `patient`; told waits are short. Raises `ValueError` where no fault
    is left.
    """
    kinds = st.sampled_from(_kinds(dialect, groups, patient))
    return st.builds(_fault, kinds, st.integers(0, 2), st.integers(1, 2))


def _fault(kind: Kind, turn: int, times: int) -> Fault:
    return Fault(kind.name, {"turn": turn, "times": times, **kind.quick})


def _kinds(dialect: str, groups: Sequence[str], patient: bool) -> list[Kind]:
    kinds = [
        kind
        for kind in FAULTS.values()
        if dialect in kind.dialects
        and kind.count is None
        and (patient or not kind.slow)
        and (not groups or kind.group in groups)
    ]
    if not kinds:
        raise ValueError(f"no fault of the groups {list(groups)} strikes the dialect {dialect!r}")
    return kinds


@st.composite
def conversations(draw: st.DrawFn, turns: int = 4) -> Messages:
    """Chat messages that every service takes: up to `turns` assistant turns, every call with its
    result, the user's word or a result at the end."""
    messages: Messages = []
    if draw(st.booleans()):
        messages.append({"role": "system", "content": draw(texts())})
    messages.append({"role": "user", "content": draw(texts())})
    for turn in range(draw(st.integers(0, turns))):
        reply = draw(replies())
        messages += _turn(turn, reply)
        results = draw(st.permutations(_results(messages[-1])))
        messages += results or [{"role": "user", "content": draw(texts())}]
    return messages


def _turn(turn: int, reply: Reply) -> Messages:
    tool_calls = [
        {
            "id": f"call_{turn}_{place}",
            "type": "function",
            "function": {"name": call.name, "arguments": call.arguments},
        }
        for place, call in enumerate(reply.calls)
    ]
    return [{"role": "assistant", "content": reply.text or None, **_some("tool_calls", tool_calls)}]


def _results(assistant: dict[str, Any]) -> Messages:
    return [
        {"role": "tool", "tool_call_id": call["id"], "content": json.dumps({"ok": True})}
        for call in assistant.get("tool_calls", [])
    ]


def _some(name: str, value: list[Any]) -> dict[str, Any]:
    """The field, left out where it is empty."""
    return {name: value} if value else {}


@st.composite
def invalid_conversations(draw: st.DrawFn) -> tuple[str, Messages]:
    """Messages with one thing wrong in them, and the rule of the strict table that it breaks."""
    messages = draw(conversations())
    messages += _turn(9, Reply((draw(calls()),)))
    results = _results(messages[-1])
    rule = draw(st.sampled_from(("unanswered_call", "orphan_result", "second_result")))
    if rule == "unanswered_call":
        return rule, [*messages, {"role": "user", "content": draw(texts())}]
    if rule == "second_result":
        return rule, [*messages, *results, *results]
    stray = {"role": "tool", "tool_call_id": "nobody", "content": "x"}
    return rule, [*messages, *results, stray]


@st.composite
def chunkings(draw: st.DrawFn, data: bytes) -> list[bytes]:
    """The bytes of a stream in pieces, cut anywhere: inside events, lines and characters."""
    if len(data) < 2:
        return [data]
    cuts = sorted(draw(st.sets(st.integers(1, len(data) - 1), max_size=8)))
    return [data[start:end] for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True)]
