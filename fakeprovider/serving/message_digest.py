"""What was new to the provider in a request, in short: for the journal."""

from __future__ import annotations

import json
from functools import lru_cache
from hashlib import blake2b

from fakeprovider.conversation import Call, Conversation, Message
from fakeprovider.journal import Called, Heard

_EXCERPT = 200  # characters of a tool result
_MOST = 200  # messages; a first request may bring a whole library of examples
_CACHED = 4096  # characters of arguments whose digest is worth remembering


def heard(conversation: Conversation) -> tuple[Heard, ...]:
    """The last assistant turn and everything after it; at the start, everything."""
    found: list[Heard] = []
    for message in reversed(conversation.messages):
        found.append(_short(message))
        if message.role == "assistant" or len(found) == _MOST:
            break
    return tuple(reversed(found))


def called(call: Call) -> Called:
    """A call with a digest for its arguments."""
    arguments = call.arguments
    digest, valid = (_remembered if len(arguments) <= _CACHED else _canonical)(arguments)
    return Called(call.id, call.name, digest, valid)


def _short(message: Message) -> Heard:
    result = message.role == "tool"
    return Heard(
        message.role,
        digest_of(message.text),
        len(message.text),
        tuple(map(called, message.calls)),
        message.call_id,
        message.text[:_EXCERPT] if result else "",
        message.is_error,
        message.opens_turn,
    )


def digest_of(text: str) -> str:
    """A short digest of a text."""
    return blake2b(text.encode("utf-8", "replace"), digest_size=8).hexdigest()


def _canonical(arguments: str) -> tuple[str, bool]:
    """The digest of arguments with keys sorted, and whether they are a JSON object."""
    try:
        found = json.loads(arguments) if arguments.strip() else {}
    except (ValueError, RecursionError):
        return digest_of(arguments), False
    return digest_of(json.dumps(found, sort_keys=True)), isinstance(found, dict)


_remembered = lru_cache(maxsize=1024)(_canonical)
