"""All dialects there are, and what answers a path."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.parsing.caches import Memory
from fakeprovider.protocols import embeddings
from fakeprovider.protocols.chat import dialect as chat
from fakeprovider.protocols.dialect import Dialect
from fakeprovider.protocols.messages import dialect as messages
from fakeprovider.protocols.responses import dialect as responses

DIALECTS: tuple[Dialect, ...] = (chat, messages, responses)

Recount: TypeAlias = Callable[[Conversation], Conversation]
"""Gives a conversation the prompt tokens of the counting rule in force."""

Aside: TypeAlias = Callable[[bytes, Memory, str, Recount], tuple[Conversation | None, bytes]]
"""Answers a request body that no script is asked about, with the conversation if there is one."""

ASIDES: dict[str, Aside] = {
    "/messages/count_tokens": messages.count_tokens,
    "/responses/input_tokens": responses.count_tokens,
    "/embeddings": embeddings.answer,
}

BY_PATH: dict[str, Dialect] = {
    **{path: dialect for dialect in DIALECTS for path in dialect.PATHS},
    "/messages/count_tokens": messages,
    "/responses/input_tokens": responses,
    "/embeddings": chat,
}
