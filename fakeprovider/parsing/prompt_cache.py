"""A prompt cache that remembers nothing: what the request before this one had sent is cached.

The head of a request that an earlier request of the same conversation had sent follows from the
transcript: everything before the last assistant turn. How much of it a service serves from its
cache is the service's own rule:

- OpenAI, chat completions and responses: prompts from 1,024 tokens on, in steps of 128, without
  being asked (guide "Prompt caching"). From GPT-5.6 on other rules hold, which are not simulated.
- Anthropic: up to a `cache_control` mark, from 1,024 tokens on (guide "Prompt caching"; 512 to
  4,096 for some models). What is beyond the cached part and before the mark is written to the
  cache, which costs more than reading it plain. Marks among the messages count as one on the last
  message, which is where automatic caching and agents put them.

A cache entry expires after minutes in the real services; here it never does.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation

MINIMUM = 1024
"""Tokens below which nothing is cached."""

STEP = 128
"""Tokens in which OpenAI's cached part grows."""

Mark: TypeAlias = Literal["", "tools", "system", "messages"]
"""How far a request asks for caching: not at all, or up to the end of a part of it."""


def with_cache(conversation: Conversation, completion: Completion) -> Completion:
    """The completion with what a cache would have read and written; a script's own figures stay."""
    usage = completion.usage
    if usage.cached:
        return completion
    cached, written = cache_use(conversation)
    return replace(completion, usage=replace(usage, cached=cached, written=written))


def cache_use(conversation: Conversation) -> tuple[int, int]:
    """Tokens of the prompt that are read from the cache, and that are written to it."""
    marked = conversation.options.get("cache_mark")
    if marked is None:
        return _automatic(conversation.sent_before), 0
    reach = _reach(conversation, marked)
    if reach < MINIMUM:
        return 0, 0
    cached = min(conversation.sent_before, reach)
    if cached < MINIMUM:
        cached = 0
    return cached, reach - cached


def _automatic(sent_before: int) -> int:
    return 0 if sent_before < MINIMUM else sent_before // STEP * STEP


def _reach(conversation: Conversation, mark: Mark) -> int:
    """Tokens up to the mark; tools come first, then the system prompt."""
    if mark == "messages":
        return conversation.prompt_tokens
    if mark == "system":
        return int(conversation.options["fixed_tokens"])
    return int(conversation.options["tool_tokens"]) if mark else 0
