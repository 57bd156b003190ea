"""Where in a dialect's events the parts of a reply stand: call fragments, finish, usage."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from fakeprovider.faults.events import Event

FINISHES = frozenset({"message_delta", "message_stop"})


def choice(event: Event) -> dict[str, Any] | None:
    """The first choice of a chat chunk, if it has one."""
    choices = (event.data or {}).get("choices")
    return choices[0] if choices else None


def chat_calls(event: Event) -> list[dict[str, Any]]:
    """The tool call deltas of a chat chunk."""
    found = choice(event)
    calls: list[dict[str, Any]] = ((found or {}).get("delta") or {}).get("tool_calls") or []
    return calls


def with_choice(event: Event, **changes: Any) -> Event:
    """A chat chunk with its choice changed."""
    return event.with_data(choices=[{**(choice(event) or {}), **changes}])


def with_delta(event: Event, delta: dict[str, Any]) -> Event:
    """A chat chunk with another delta."""
    return with_choice(event, delta=delta)


def with_calls(event: Event, calls: list[dict[str, Any]]) -> Event:
    """A chat chunk with other tool call deltas."""
    found = choice(event) or {}
    return with_delta(event, {**found["delta"], "tool_calls": calls})


def each_call(event: Event, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Event:
    """A chat chunk with each of its tool call deltas changed."""
    calls = chat_calls(event)
    return with_calls(event, [change(call) for call in calls]) if calls else event


def each_delta(event: Event, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Event:
    """A chat chunk with its delta changed, if it has one."""
    found = choice(event)
    return event if found is None else with_delta(event, change(found["delta"]))


def finishes(event: Event) -> bool:
    """Whether this event says why the reply ended, or comes after that."""
    found = choice(event)
    if found is not None:
        return found.get("finish_reason") is not None
    kind = (event.data or {}).get("type", "")
    return kind in FINISHES or kind in ("response.completed", "response.incomplete")


def arguments(event: Event) -> str | None:
    """The fragment of a call's arguments that this event carries, if it is such an event."""
    data = event.data or {}
    if data.get("type") == "content_block_delta":
        fragment: str | None = data["delta"].get("partial_json")
        return fragment
    if data.get("type") == "response.function_call_arguments.delta":
        return str(data["delta"])
    calls = chat_calls(event)
    return None if not calls else str(calls[0].get("function", {}).get("arguments", ""))


def ends_call(event: Event, in_call: bool) -> bool:
    """Whether a call that was open before this event is complete with it, or is by now."""
    kind = (event.data or {}).get("type", "")
    if kind == "response.output_item.done":
        item: dict[str, Any] = (event.data or {})["item"]
        return item.get("type") == "function_call"
    if kind:
        return in_call and kind == "content_block_stop"
    opens = any(call.get("id") for call in chat_calls(event))
    return in_call and (opens or not chat_calls(event))
