"""Side requests: what agents ask beside their task, known by its markers.

A title, a probe, a summary to compact the history, a sub-agent's request: the script is about none
of them, and a turn index shifted by one of them would spoil the run. Markers are texts that the
clients in docs/clients.md send; each stands with the client it was seen in.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, call, say

Kind: TypeAlias = Literal["title", "probe", "compaction", "sub_agent"]

TITLES = (
    "you are a title generator",  # opencode
    "generate a title for this conversation",  # opencode, as user text
    "sentence-case title (3-7 words)",  # Claude Code
    "extract a 2-3 word title",  # Claude Code 1
    "please write a 5-10 word title",  # Claude Code 1, as user text
)
PROBES = ("please say 'hello, world'",)  # inspect-ai
COMPACTIONS = (
    "respond with text only. do not call any tools",  # Claude Code
    "your task is to create a detailed summary of the conversation so far",  # Claude Code
    "context checkpoint compaction",  # Codex
    "provide a detailed prompt for continuing our conversation above",  # opencode
)

_ANSWERS: Mapping[Kind, str] = {
    "title": "Scripted run",
    "probe": "hello, world",
    "compaction": "Nothing of the conversation so far needs to be kept but the task itself.",
    "sub_agent": "There is nothing to report.",
}


@dataclass(frozen=True, slots=True)
class SideRequest:
    """What was recognised, and by which marker."""

    kind: Kind
    marker: str


def side_request(conversation: Conversation, agent_header: str = "") -> SideRequest | None:
    """The side request that this is, None for one that the script is to answer.

    `agent_header` is the name of a sub-agent's header, if the request has one. A title or a probe
    comes alone and without tools, a compaction prompt is the last message and the user's.
    """
    if agent_header:
        return SideRequest("sub_agent", f"header {agent_header}")
    if not conversation.tools and conversation.position == 0:
        aside = _title(conversation) or _probe(conversation)
        if aside is not None:
            return aside
    last = conversation.messages[-1]
    return _marked("compaction", COMPACTIONS, last.text) if last.role == "user" else None


def plain_answer(side: SideRequest, conversation: Conversation) -> Reply:
    """A short answer in the form that the request asks for."""
    schema = conversation.options.get("json_schema")
    if not isinstance(schema, Mapping):
        return say(_ANSWERS[side.kind])
    from fakeprovider.fitting.arguments import Unsatisfiable, admits, smallest_arguments

    try:
        fields = smallest_arguments(schema)
    except Unsatisfiable:
        return say(_ANSWERS[side.kind])
    titled = {**fields, "title": _ANSWERS["title"]}
    return say(call("-", titled if admits(schema, titled) else fields).arguments)


def _title(conversation: Conversation) -> SideRequest | None:
    """A request for a title, known by its form or its words; None for any other."""
    schema = conversation.options.get("json_schema")
    properties = schema.get("properties") if isinstance(schema, Mapping) else None
    if isinstance(properties, Mapping) and "title" in properties and len(properties) <= 2:
        return SideRequest("title", "json_schema with a title")
    texts = [conversation.system_text, *conversation.user_messages[:1]]
    return _marked("title", TITLES, "\n".join(texts))


def _probe(conversation: Conversation) -> SideRequest | None:
    if len(conversation.messages) != 1:
        return None
    return _marked("probe", PROBES, conversation.messages[0].text)


def _marked(kind: Kind, markers: tuple[str, ...], text: str) -> SideRequest | None:
    lowered = text.lower()
    marker = next((text for text in markers if text in lowered), None)
    return None if marker is None else SideRequest(kind, marker)
