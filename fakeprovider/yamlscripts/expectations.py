"""Expectations: what a request must be at a turn, and how it differs if it is not.

`@expectation` registers one: its name, what may stand after it, what it says in the docs and the
JSON Schema, and the function that tells the differences.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.errors import ApiError
from fakeprovider.registry import Registry
from fakeprovider.yamlscripts.matches import (
    COUNT,
    MATCHER,
    RESULT,
    TOOL,
    TOOLS,
    WORDS,
    as_list,
    count_match,
    outcome_of,
    result_match,
    text_match,
)
from fakeprovider.yamlscripts.shapes import Shape, either, list_of, mapping, one_of

Check: TypeAlias = Callable[[Conversation, Any], Iterator[str]]
"""The differences, in words, between a conversation and what stands in the file."""

_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Expectation:
    """One kind of expectation: what may stand after its name, what it says in a line, its check."""

    shape: Shape
    about: str
    check: Check


EXPECTATIONS: Registry[Expectation] = Registry("expectation")
"""All expectations by name."""


def expectation(name: str, shape: Shape, about: str) -> Callable[[Check], Check]:
    """Decorator: register the function as the expectation `name`."""

    def register(check: Check) -> Check:
        EXPECTATIONS.add(name, Expectation(shape, about, check))
        return check

    return register


def expectation_shape() -> Shape:
    """A mapping of expectations, all of which must be met."""
    fields = {name: (kind.shape, kind.about) for name, kind in EXPECTATIONS.items()}
    return mapping("an expectation", fields, least=tuple(fields))


def drifted(script: str, turn: int, differences: list[str]) -> ApiError:
    """The error for a request that is not what the script expects; SDKs do not retry it."""
    message = f"Script {script!r}, turn {turn}: {'; '.join(differences)}."
    return ApiError(400, message, code="expectation_failed", retry=False)


def differences(expected: Mapping[str, Any], conversation: Conversation) -> list[str]:
    """Every expectation that the conversation does not meet, in words."""
    return [
        difference
        for name, written in expected.items()
        for difference in EXPECTATIONS[name].check(conversation, written)
    ]


@expectation(
    "tools", either(TOOL, list_of(TOOL, 0)), "Exactly the tools that are offered, in any order."
)
def _tools(conversation: Conversation, written: Any) -> Iterator[str]:
    wanted = sorted({*as_list(written)})
    offered = sorted({tool.name for tool in conversation.tools})
    if wanted != offered:
        yield f"expected exactly the tools {wanted}, offered are {offered}"


@expectation("offers", TOOLS, "Tools that are offered, beside others.")
def _offers(conversation: Conversation, written: Any) -> Iterator[str]:
    offered = [tool.name for tool in conversation.tools]
    for name in as_list(written):
        if name not in offered:
            yield f"expected the tool {name!r} to be offered, offered are {offered}"


@expectation(
    "roles",
    list_of(one_of("system", "user", "assistant", "tool")),
    "The roles of all messages, in order; developer counts as system.",
)
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


@expectation("seen", WORDS, "Text that stands in any message.")
def _seen(conversation: Conversation, written: Any) -> Iterator[str]:
    for word in as_list(written):
        if not conversation.seen(word):
            count = len(conversation.messages)
            yield f"expected {word!r} in some message, and none of the {count} contains it"


@expectation("user", MATCHER, "The last thing the user said.")
def _user(conversation: Conversation, written: Any) -> Iterator[str]:
    message = conversation.user_messages[-1] if conversation.user_messages else ""
    if not text_match(written)(message):
        where = _last_index(conversation, "user")
        yield f"message {where}, the user's last, is {_shown(message)}, expected {written!r}"


@expectation("last_result", RESULT, "The result of the last call.")
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


@expectation("prompt_tokens", COUNT, "The size of the prompt in tokens.")
def _prompt_tokens(conversation: Conversation, written: Any) -> Iterator[str]:
    if not count_match(written)(conversation.prompt_tokens):
        yield f"the prompt has {conversation.prompt_tokens} tokens, expected {written!r}"


def _shown(text: str) -> str:
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _last_index(conversation: Conversation, role: str) -> int:
    """The place of the last message of a role, -1 if there is none."""
    places = [place for place, message in enumerate(conversation.messages) if message.role == role]
    return places[-1] if places else -1
