"""Chat completions whose calls, roles and choices are labelled as look-alikes label them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from fakeprovider.faults.events import (
    Event,
    chat_calls,
    decode,
    each,
    each_call,
    each_delta,
    encode,
    first_choice,
    read_all,
    with_calls,
    with_choice,
    with_delta,
)
from fakeprovider.faults.kind import CHOICES, STREAM, Param, Scene
from fakeprovider.faults.registry import fault
from fakeprovider.protocols.dialect import Frame

Delta = dict[str, Any]


@fault(
    "no_index",
    hook="stream",
    group="calls",
    line="Fragments of calls have no `index`.",
    source="openai/openai-python#2806, jin-bo/agentao#117, SamSaffron/term-llm#314",
    params=(
        Param(
            "form",
            "none",
            "none at all; all calls whole in one chunk; none after the first call's",
            ("none", "one_chunk", "after_first"),
        ),
    ),
    forms=STREAM,
    needs="a call",
    shapes=CHOICES,
)
def _no_index(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    form = scene.values["form"]
    events = read_all(frames)
    if form == "one_chunk":
        events = _in_one_chunk(list(events))
    for event in events:
        yield each_call(event, lambda call: _without_index(call, form)).frame


def _without_index(call: Delta, form: str) -> Delta:
    """A fragment of a call without its `index`, or only of further calls."""
    if form == "after_first" and call.get("index") == 0:
        return call
    return {key: value for key, value in call.items() if key != "index"}


def _in_one_chunk(events: list[Event]) -> Iterator[Event]:
    """All calls whole, in the chunk in which the first one starts."""
    of_calls = [event for event in events if chat_calls(event)]
    whole = with_calls(of_calls[0], _assembled(of_calls))
    for event in events:
        if event is of_calls[0]:
            yield replace(whole, tokens=sum(fragment.tokens for fragment in of_calls))
        elif event not in of_calls:
            yield event


def _assembled(events: Iterable[Event]) -> list[Delta]:
    """The calls of a stream, each in one piece."""
    calls: dict[int, Delta] = {}
    for event in events:
        for part in chat_calls(event):
            call = calls.setdefault(part["index"], part)
            if call is not part:
                function = call["function"]
                joined = function["arguments"] + part["function"]["arguments"]
                calls[part["index"]] = {**call, "function": {**function, "arguments": joined}}
    return list(calls.values())


def _ids_again(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """Every further fragment repeats the id: as "" or as it is; or no fragment has one."""
    how = scene.values["ids"]
    ids: dict[int, str] = {}
    return each(frames, lambda event: each_call(event, lambda call: _relabelled(call, how, ids)))


def _relabelled(call: Delta, how: str, ids: dict[int, str]) -> Delta:
    """A fragment with its id as the fault has it."""
    if how == "missing":
        return {key: value for key, value in call.items() if key != "id"}
    if call.get("id"):
        ids[call["index"]] = call["id"]
        return call
    again = ids[call["index"]] if how == "repeated" else ""
    return {"index": call["index"], "id": again, "function": call["function"]}


@fault(
    "call_ids",
    hook="whole",
    group="calls",
    line='Ids of calls in further fragments are "" or repeated, or there are none at all.',
    source="symfony/ai#2220, spring-projects/spring-ai#6369, BerriAI/litellm#29514",
    params=(Param("ids", "empty", "what they are", ("empty", "repeated", "missing")),),
    needs="a call",
    shapes=CHOICES,
    stream=_ids_again,
)
def _ids_missing_whole(body: bytes, scene: Scene) -> bytes:
    if scene.values["ids"] != "missing":
        return body
    data = decode(body)
    message = data["choices"][0]["message"]
    message["tool_calls"] = [
        {key: value for key, value in call.items() if key != "id"} for call in message["tool_calls"]
    ]
    return encode(data)


@fault(
    "call_apart",
    hook="stream",
    group="calls",
    line="The id of a call, its name and its arguments come in chunks of their own.",
    source="pipecat-ai/pipecat#5023",
    forms=STREAM,
    needs="a call",
    shapes=CHOICES,
)
def _apart(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """Index and id first, then the name, then arguments."""
    for event in read_all(frames):
        calls = chat_calls(event)
        if not calls or not calls[0].get("id"):
            yield event.frame
            continue
        call = calls[0]
        opening = {"index": call["index"], "id": call["id"], "type": call["type"]}
        named = {"index": call["index"], "function": {"name": call["function"]["name"]}}
        yield with_calls(event, [opening]).frame
        yield Event("", with_calls(event, [named]).data).frame


@fault(
    "two_choices",
    hook="stream",
    group="calls",
    line="A second choice, woven into the first.",
    source="langfuse/langfuse#16998, BerriAI/litellm#35793",
    forms=STREAM,
    shapes=CHOICES,
)
def _two_choices(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """A second choice, woven into the first; its calls have ids of their own."""
    for event in read_all(frames):
        yield event.frame
        choice = first_choice(event)
        if choice is not None:
            second = each_call(event, _of_second)
            yield Event("", with_choice(second, index=1).data).frame


def _of_second(call: Delta) -> Delta:
    """The call with an id of the second choice's."""
    return {**call, "id": f"{call['id']}b"} if call.get("id") else call


@fault(
    "role",
    hook="stream",
    group="calls",
    line="Every delta has a role, or none has.",
    source="https://platform.openai.com/docs/api-reference/chat/streaming",
    params=(Param("role", "repeated", "which of the two", ("repeated", "absent")),),
    forms=STREAM,
    shapes=CHOICES,
)
def _roles(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    role = {"role": "assistant"} if scene.values["role"] == "repeated" else {}
    return each(frames, lambda event: each_delta(event, lambda delta: _roled(delta, role)))


def _roled(delta: Delta, role: Delta) -> Delta:
    """The delta with the role, or with none."""
    return {**role, **{key: value for key, value in delta.items() if key != "role"}}


@fault(
    "empty_choices",
    hook="stream",
    group="calls",
    line="Chunks with `choices: []` at the start and in the middle.",
    source="digitalocean/langchain-gradient#27, run-llama/llama_index#22812",
    forms=STREAM,
    shapes=CHOICES,
)
def _no_choices(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """A chunk without choices first and one in the middle, as content filters send."""
    events = list(read_all(frames))
    empty = events[0].with_data(choices=[])
    for number, event in enumerate(events):
        if number in (0, len(events) // 2):
            yield empty.frame
        yield event.frame


@fault(
    "finish_empty",
    hook="stream",
    group="calls",
    line='`finish_reason` is "" on every chunk but the last.',
    source="ollama/ollama#4357, sgl-project/sglang#3912",
    forms=STREAM,
    shapes=CHOICES,
)
def _finish_empty(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """`finish_reason` is "" until the last chunk that has one."""
    return each(frames, _with_empty_finish)


def _with_empty_finish(event: Event) -> Event:
    choice = first_choice(event)
    if choice is None or choice["finish_reason"] is not None:
        return event
    return with_choice(event, finish_reason="")


def _no_calls(scene: Scene) -> list[Delta] | None:
    """An empty list of calls, or null."""
    return [] if scene.values["value"] == "empty" else None


def _without_calls(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """Deltas of text have `tool_calls` too, with nothing in it."""
    nothing = _no_calls(scene)
    return each(
        frames,
        lambda event: each_delta(event, lambda delta: {"tool_calls": nothing, **delta}),
    )


@fault(
    "tool_calls_empty",
    hook="whole",
    group="calls",
    line="Text comes with `tool_calls: []`, or null.",
    source="github/copilot-sdk#616, openai/openai-node#1341",
    params=(Param("value", "empty", "which of the two", ("empty", "null")),),
    shapes=CHOICES,
    stream=_without_calls,
)
def _without_calls_whole(body: bytes, scene: Scene) -> bytes:
    data = decode(body)
    data["choices"][0]["message"].setdefault("tool_calls", _no_calls(scene))
    return encode(data)


def _legacy(frames: Iterable[Frame], scene: Scene) -> Iterator[Frame]:
    """The first call in the deprecated form; there was room for no other."""
    for event in read_all(frames):
        choice = first_choice(event)
        if choice is None or (not chat_calls(event) and not choice["finish_reason"]):
            yield event.frame
        elif choice["finish_reason"]:
            yield with_choice(event, finish_reason="function_call").frame
        else:
            call = chat_calls(event)[0]
            if call["index"] == 0:
                yield with_delta(event, {"function_call": call["function"]}).frame


@fault(
    "function_call",
    hook="whole",
    group="calls",
    line="The call comes in the deprecated form, `function_call`.",
    source="microsoft/agent-framework-go#1103",
    needs="a call",
    shapes=CHOICES,
    stream=_legacy,
)
def _legacy_whole(body: bytes, scene: Scene) -> bytes:
    data = decode(body)
    choice = data["choices"][0]
    choice["message"]["function_call"] = choice["message"].pop("tool_calls")[0]["function"]
    choice["finish_reason"] = "function_call"
    return encode(data)
