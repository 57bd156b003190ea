"""What the real services refuse in a transcript: one table for all dialects.

A flaw is found while parsing or folding (`Violation.rule`); this table says what each dialect does
about it. Each refusal has its source: documentation, or a public report of the live service (named
`owner/repository#issue`). Where none is known the transcript is accepted and a note is journaled;
where a dialect is not named at all, it accepts in silence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from fakeprovider.conversation import NOWHERE, Violation


@dataclass(frozen=True, slots=True)
class Rule:
    """What is done about one flaw: dialects that refuse it, and dialects that note it."""

    refused_by: frozenset[str]
    noted_by: frozenset[str] = frozenset()


def _refused(*dialects: str, noted: tuple[str, ...] = ()) -> Rule:
    return Rule(frozenset(dialects), frozenset(noted))


def _noted(*dialects: str) -> Rule:
    return Rule(frozenset(), frozenset(dialects))


RULES: dict[str, Rule] = {
    # A call without a result before the next message, or at the end.
    # chat: QwenLM/qwen-code#315, charmbracelet/crush#529; messages: anthropics/claude-code#8210;
    # responses: router-for-me/CLIProxyAPI#2368.
    "unanswered_call": _refused("chat", "messages", "responses"),
    # A result without a call before it.
    # chat: tidyverse/ellmer#459; messages: anthropics/claude-code#13460;
    # responses: microsoft/vscode#320060.
    "orphan_result": _refused("chat", "messages", "responses"),
    # Two results for one call.
    # chat: agno-agi/agno#5116; messages: anthropics/anthropic-sdk-typescript#653 (a result for
    # each call, and no more); responses: NousResearch/hermes-agent#111443.
    "second_result": _refused("chat", "messages", "responses"),
    # Two calls with one id in one turn.
    # chat: openclaw/openclaw#47136; messages: trycua/cua#524;
    # responses: earendil-works/pi#9057, openai/gpt-oss#309.
    "twice_in_turn": _refused("chat", "messages", "responses"),
    # One id again in a later turn, each with its result.
    # messages: NVIDIA-NeMo/Switchyard#502, anthropics/claude-code#20700. The others are known to
    # take it from clients that count their ids per turn.
    "id_again": _refused("messages"),
    # Results behind other content of their user message.
    # messages: the tool use guide ("tool_result blocks come first"),
    # anthropics/anthropic-sdk-typescript#653.
    "result_not_first": _refused("messages"),
    # A system message among the messages: the SDK's types have it, not every model takes it.
    "system_in_middle": _noted("messages"),
    # An assistant message with null content and no calls.
    # chat: vercel/ai#14950, run-llama/llama_index#17555; messages (unless it is the last):
    # anthropics/claude-code#6774.
    "null_content": _refused("chat", "messages"),
    # An assistant message with empty content and no calls.
    # messages (unless it is the last): anthropics/claude-code#3196, #6774. In 2026 some models were
    # seen to take it (experientiallabs/experiential#804): what is refused here is safe there.
    "empty_content": _refused("messages"),
    # A text block without text.
    # messages: anthropics/anthropic-sdk-python#461, BerriAI/litellm#22979.
    "empty_text": _refused("messages"),
    # `tool_calls: []`.
    # chat: openai/openai-node#1341, openai/openai-python#2061.
    "empty_tool_calls": _refused("chat"),
    # A call of a tool that is not offered now: no report of a refusal is known.
    "not_offered": _noted("chat", "messages", "responses"),
    # Arguments that are not JSON; for messages, an input that is not an object.
    # messages: anthropics/claude-code#6695, anthropics/anthropic-sdk-typescript#648.
    "arguments_not_json": _refused("messages", noted=("chat", "responses")),
    # A call id over 40 characters (chat: camel-ai/camel#2215) or over 64
    # (responses: AnswerDotAI/fastllm#45, V1ki/dsh-plugin-subscriptions#29).
    "call_id_too_long": _refused("chat", "responses"),
    # A call id that is not of [a-zA-Z0-9_-].
    # messages: CommandCodeAI/command-code#323, RooCodeInc/Roo-Code#10649.
    "call_id_characters": _refused("messages"),
    # A tool name outside [a-zA-Z0-9_-] or too long: 64 characters, in messages 128.
    # chat and responses: the reference of `tools[].function.name`, `tools[].name`;
    # messages: the reference of `tools[].name`, apify/tester-mcp-client#11.
    "tool_name": _refused("chat", "messages", "responses"),
    # A thinking block that came back without its signature, or with other words.
    # messages: the extended thinking guide, anthropics/claude-code#10627.
    "thinking_signature": _refused("messages"),
    # Two of the tools offered have one name.
    # messages: anthropics/claude-code#10687, microsoft/vscode#276110. OpenAI's models were seen to
    # take it (eclipse-theia/theia#16122); xAI's Responses refuse it (justrach/codegraff#505).
    "tool_twice": _refused("messages", noted=("chat", "responses")),
    # More than four blocks with `cache_control`, the request's own counted.
    # messages: the prompt caching guide, anthropics/claude-code#8901, coder/mux#3112.
    "cache_marks": _refused("messages"),
    # A thinking budget under 1024 tokens.
    # messages: the extended thinking guide, themaximalist/llm.js#30.
    "budget_too_small": _refused("messages"),
    # A thinking budget of `max_tokens` or more.
    # messages: the extended thinking guide, griffinwork40/agent-afk#951. With tools it may be more
    # where a beta header turns interleaved thinking on: headers are not looked at.
    "budget_over_max": _refused("messages"),
    "budget_over_max_with_tools": _noted("messages"),
    # A signature that is not from here: whose it is cannot be told, so it is let through.
    "foreign_signature": _noted("messages"),
}


def judge(
    flaws: Iterable[Violation], dialect: str
) -> tuple[tuple[Violation, ...], tuple[Violation, ...]]:
    """What of `flaws` the dialect refuses, and what it accepts with a note."""
    flaws = tuple(flaws)
    refused = tuple(flaw for flaw in flaws if dialect in RULES[flaw.rule].refused_by)
    noted = tuple(flaw for flaw in flaws if dialect in RULES[flaw.rule].noted_by)
    return refused, noted


_MARK = b'"cache_control"'
_MOST_MARKS = 4
_LEAST_BUDGET = 1024  # tokens

_ANY: msgspec.json.Decoder[Any] = msgspec.json.Decoder()


def names_twice(names: Sequence[str]) -> tuple[Violation, ...]:
    """For the first name that two of the tools offered have."""
    if len(set(names)) == len(names):
        return ()
    twice = next(name for at, name in enumerate(names) if name in names[:at])
    return (Violation("tool_twice", NOWHERE, f"two tools have the name {twice!r}", "tools"),)


def too_many_marks(body: bytes) -> tuple[Violation, ...]:
    """For more cache marks than a Messages request may have.

    Counted are blocks of system, messages and results, tools, and the request itself.
    """
    if body.count(_MARK) <= _MOST_MARKS:  # it may also be a word of somebody's schema
        return ()
    request = _ANY.decode(body)
    found = sum(1 for one in _markable(request) if one.get("cache_control") is not None)
    if found <= _MOST_MARKS:
        return ()
    told = f"at most {_MOST_MARKS} blocks may have it, and {found} do"
    return (Violation("cache_marks", NOWHERE, told, "cache_control"),)


def _markable(request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield request
    blocks = [*_list(request.get("system")), *_list(request.get("tools"))]
    for message in _list(request.get("messages")):
        for block in _list(message.get("content")):
            blocks += [block, *_list(block.get("content"))]
    yield from (block for block in blocks if isinstance(block, dict))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def thinking_budget(
    budget: int | None, max_tokens: int, *, with_tools: bool
) -> tuple[Violation, ...]:
    """For a budget that thinking cannot have; `budget` None if it is not on, or says none."""
    if budget is None:
        return ()
    where = "thinking.budget_tokens"
    if budget < _LEAST_BUDGET:
        told = f"it is {budget}, and must be {_LEAST_BUDGET} or more"
        return (Violation("budget_too_small", NOWHERE, told, where),)
    if budget >= max_tokens:
        rule = "budget_over_max_with_tools" if with_tools else "budget_over_max"
        told = f"it is {budget}, and must be less than max_tokens, which is {max_tokens}"
        return (Violation(rule, NOWHERE, told, where),)
    return ()
