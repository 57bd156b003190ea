"""A reply with nothing left open: ids, finish, usage, and the client's cap applied.

This is what dialects render, so that whole and streamed forms and all dialects agree.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from fakeprovider import tokens
from fakeprovider.conversation import Call, Conversation
from fakeprovider.parsing.counting import calls_json, completion_count
from fakeprovider.replies import (
    Fault,
    Finish,
    Pace,
    Refusal,
    Reply,
    Text,
    Thinking,
    ToolCall,
    WebSearch,
)

Part: TypeAlias = Text | Call | Thinking | Refusal | WebSearch

SEARCH_LIMIT = 10
"""Searches of the service's own after which the Messages API pauses a turn, by default."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Tokens to report.

    `prompt` includes `cached` (read from a prompt cache) and `written` (put there), `completion`
    includes `reasoning`.
    """

    prompt: int
    completion: int
    cached: int = 0
    reasoning: int = 0
    written: int = 0

    def times(self, choices: int) -> Tokens:
        """The tokens of so many choices: the output of all counts, the prompt once."""
        if choices == 1:
            return self
        spoken, thought = self.completion * choices, self.reasoning * choices
        return replace(self, completion=spoken, reasoning=thought)

    @property
    def total(self) -> int:
        """Prompt and completion."""
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Completion:
    """One finished reply.

    `position` is the turn of the conversation that it is, `script` the name of what wrote it;
    `stop_sequence` is the client's word that ended it, None if none did.
    """

    model: str
    position: int
    parts: tuple[Part, ...]
    finish: Finish
    usage: Tokens
    fault: Fault | None = None
    pace: Pace | None = None
    stop_sequence: str | None = None
    script: str = ""

    @property
    def calls(self) -> tuple[Call, ...]:
        """The tool calls, in order."""
        return tuple(part for part in self.parts if isinstance(part, Call))

    @property
    def text(self) -> str:
        """The words for the user, joined."""
        return "".join(part.text for part in self.parts if isinstance(part, Text))


def complete(conversation: Conversation, reply: Reply, script: str = "") -> Completion:
    """Fill in what `reply` leaves open; cut it at the client's stop words and cap on output."""
    parts, paused = _share(_named(reply, conversation.position), conversation)
    parts, word = _stopped(parts, conversation.options.get("stop", ()))
    reasoning = sum(tokens.count(part.text) for part in parts if isinstance(part, Thinking))
    spent = _spoken(parts) + reasoning
    finish = reply.finish or _finish(parts)
    if word is not None:
        finish = "stop_sequence"
    elif finish == "stop_sequence":
        word = next(iter(conversation.options.get("stop", ())), None)
    elif paused:
        finish = "pause"
    cap = conversation.max_output
    if cap is not None and spent > cap:
        parts, finish, spent, word = _cut(parts, cap), "length", cap, None
        reasoning = min(reasoning, cap)
    return Completion(
        model=conversation.model,
        position=conversation.position,
        parts=parts,
        finish=finish,
        usage=_tokens(conversation, reply, spent, reasoning),
        fault=reply.fault,
        pace=reply.pace,
        stop_sequence=word,
        script=script,
    )


def _share(parts: tuple[Part, ...], conversation: Conversation) -> tuple[tuple[Part, ...], bool]:
    """What of a reply this request gets, and whether it pauses there.

    What was sent before the pause is left out: it ends with the last search that came back.
    """
    done = conversation.options.get("searches_done")
    if done is None:
        return parts, False
    ends = [at + 1 for at, part in enumerate(parts) if isinstance(part, WebSearch)]
    limit = conversation.options.get("search_limit", SEARCH_LIMIT)
    start = ends[min(done, len(ends)) - 1] if done and ends else 0
    if len(ends) <= done + limit:
        return parts[start:], False
    return parts[start : ends[done + limit - 1]], True


def _stopped(parts: tuple[Part, ...], words: Sequence[str]) -> tuple[tuple[Part, ...], str | None]:
    """What was said before the first stop word, and the word; it is not part of the reply."""
    for index, part in enumerate(parts):
        if isinstance(part, Text):
            places = [(part.text.find(word), word) for word in words if word in part.text]
            if places:
                at, word = min(places)
                return (*parts[:index], Text(part.text[:at])), word
    return parts, None


def _named(reply: Reply, position: int) -> tuple[Part, ...]:
    parts: list[Part] = []
    calls = 0
    for block in reply.blocks:
        if isinstance(block, ToolCall):
            own = f"fake{position}p{calls}" if calls else f"fake{position}"
            arguments = tokens.replace_surrogates(block.arguments)
            parts.append(Call(own if block.id is None else block.id, block.name, arguments))
            calls += 1
        elif isinstance(block, WebSearch):
            parts.append(block)
        else:
            text = tokens.replace_surrogates(block.text)
            parts.append(block if text is block.text else replace(block, text=text))
    return tuple(parts)


def _spoken(parts: tuple[Part, ...]) -> int:
    text = "".join(part.text for part in parts if isinstance(part, Text | Refusal))
    return completion_count(text, [part for part in parts if isinstance(part, Call)])


def _finish(parts: tuple[Part, ...]) -> Finish:
    if any(isinstance(part, Call) for part in parts):
        return "tool_calls"
    return "refusal" if any(isinstance(part, Refusal) for part in parts) else "stop"


def _tokens(conversation: Conversation, reply: Reply, spent: int, reasoning: int) -> Tokens:
    counted = Tokens(conversation.prompt_tokens, spent, 0, reasoning)
    reported = reply.usage
    if reported is None:
        return counted
    return Tokens(
        counted.prompt if reported.prompt_tokens is None else reported.prompt_tokens,
        counted.completion if reported.completion_tokens is None else reported.completion_tokens,
        reported.cached_tokens or 0,
        counted.reasoning if reported.reasoning_tokens is None else reported.reasoning_tokens,
    )


def _cut(parts: tuple[Part, ...], cap: int) -> tuple[Part, ...]:
    """What fits in `cap` tokens: whole parts, then the start of one; a call only with its frame."""
    kept: list[Part] = []
    left = cap
    for part in parts:
        if isinstance(part, WebSearch):
            kept.append(part)
            continue
        if isinstance(part, Call):
            fitting, left = _cut_call(part, left)
        else:
            fitting, left = _cut_words(part, left)
        if fitting is not None:
            kept.append(fitting)
        if left <= 0:
            break
    return tuple(kept)


def _cut_words(part: Text | Thinking | Refusal, left: int) -> tuple[Part | None, int]:
    size = tokens.count(part.text)
    if size <= left:
        return part, left - size
    text = tokens.head(part.text, left)
    if isinstance(part, Thinking):
        return (Thinking(text, part.signature) if text else None), 0
    return (type(part)(text) if text else None), 0


def _cut_call(call: Call, left: int) -> tuple[Part | None, int]:
    frame = tokens.count(calls_json([Call(call.id, call.name, "")]))
    size = tokens.count(calls_json([call]))
    if size <= left:
        return call, left - size
    if frame > left:
        return None, 0
    return Call(call.id, call.name, tokens.head(call.arguments, left - frame)), 0
