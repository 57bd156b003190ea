"""Expectations: what a request must be at a turn, and how it differs if it is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.yamlscripts.conditions import count_match, outcome_of, result_match, text_match

Check: TypeAlias = Callable[[Conversation, Any], Iterator[str]]
_SHOWN = 200


def drifted(script: str, turn: int, differences: list[str]) -> ApiError:
    """The error for a request that is not what the script expects; SDKs do not retry it."""
    message = f"Script {script!r}, turn {turn}: {'; '.join(differences)}."
    return ApiError(400, message, code="expectation_failed", retry=False)


def differences(expected: Mapping[str, Any], conversation: Conversation) -> list[str]:
    """Every expectation that the conversation does not meet, in words."""
    return [
        difference
        for name, written in expected.items()
        for difference in _CHECKS[name](conversation, written)
    ]


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _tools(conversation: Conversation, written: Any) -> Iterator[str]:
    wanted = sorted({*_list(written)})
    offered = sorted({tool.name for tool in conversation.tools})
    if wanted != offered:
        yield f"expected exactly the tools {wanted}, offered are {offered}"


def _offers(conversation: Conversation, written: Any) -> Iterator[str]:
    offered = [tool.name for tool in conversation.tools]
    for name in _list(written):
        if name not in offered:
            yield f"expected the tool {name!r} to be offered, offered are {offered}"


def _roles(conversation: Conversation, written: list[str]) -> Iterator[str]:
    roles = [message.role for message in conversation.messages]
    for index, (wanted, role) in enumerate(zip(written, roles, strict=False)):
        if wanted != role:
            yield f"message {index} is of role {role!r}, expected {wanted!r}"
            return
    if len(written) > len(roles):
        yield f"message {len(roles)} is missing, expected role {written[len(roles)]!r}"
    elif len(roles) > len(written):
        yield f"message {len(written)} of role {roles[len(written)]!r} is one too many"


def _seen(conversation: Conversation, written: Any) -> Iterator[str]:
    for word in _list(written):
        if not conversation.seen(word):
            count = len(conversation.messages)
            yield f"expected {word!r} in some message, and none of the {count} contains it"


def _user(conversation: Conversation, written: Any) -> Iterator[str]:
    said = conversation.user_messages[-1] if conversation.user_messages else ""
    if not text_match(written)(said):
        where = _last_index(conversation, "user")
        yield f"message {where}, the user's last, is {_shown(said)}, expected {written!r}"


def _last_result(conversation: Conversation, written: Any) -> Iterator[str]:
    result = conversation.last_result
    if result_match(written)(result):
        return
    if result is None:
        yield f"expected a tool result {written!r}, and there is none since the last turn"
        return
    where = _last_index(conversation, "tool")
    yield (
        f"message {where}, the result of {result.tool} ({outcome_of(result)}), is "
        f"{_shown(result.text)}, expected {written!r}"
    )


def _prompt_tokens(conversation: Conversation, written: Any) -> Iterator[str]:
    if not count_match(written)(conversation.prompt_tokens):
        yield f"the prompt has {conversation.prompt_tokens} tokens, expected {written!r}"


def _list(value: Any) -> list[str]:
    return value if isinstance(value, list) else [value]


def _last_index(conversation: Conversation, role: str) -> int:
    found = [index for index, one in enumerate(conversation.messages) if one.role == role]
    return found[-1] if found else -1


_CHECKS: Mapping[str, Check] = {
    "tools": _tools,
    "offers": _offers,
    "roles": _roles,
    "seen": _seen,
    "user": _user,
    "last_result": _last_result,
    "prompt_tokens": _prompt_tokens,
}
