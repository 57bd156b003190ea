"""A finished reply as the steps in which it goes out: at its pace, and with its fault."""

from __future__ import annotations

from collections.abc import Iterable

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation
from fakeprovider.delivery.steps import (
    AT_ONCE,
    JSON,
    Headers,
    Piece,
    Start,
    Step,
    Timing,
    streamed,
    whole,
)
from fakeprovider.faults import Answer, Kind
from fakeprovider.faults.kind import Scene
from fakeprovider.serving.request_context import RequestContext


def delivery(
    request: RequestContext, conversation: Conversation, completion: Completion
) -> Iterable[Step]:
    """The steps of a reply; what answers in its place is noted in `request.fault.answer`."""
    plan = request.fault.plan
    kind = plan.kind if plan else None
    scene = Scene(
        request.wire.dialect,
        conversation,
        completion,
        plan.values if plan else {},
        request.wire.body,
        request.request_id,
        request.wire.started,
    )
    if kind is not None and kind.error is not None:
        answer = request.fault.answer = kind.error(scene)
        if answer is not None:
            return _refusal(answer, request.headers)
    steps = _reply(scene, kind, request.headers)
    return steps if kind is None or kind.steps is None else kind.steps(steps, scene)


def _reply(scene: Scene, kind: Kind | None, headers: Headers) -> Iterable[Step]:
    conversation, completion = scene.conversation, scene.completion
    timing = Timing(completion.pace or AT_ONCE, conversation.digest)
    if conversation.stream:
        frames = scene.dialect.render_stream(conversation, completion)
        if kind is not None and kind.stream is not None:
            frames = kind.stream(frames, scene)
        return streamed(frames, timing, headers)
    body = scene.dialect.render_whole(conversation, completion)
    if kind is not None and kind.whole is not None:
        body = kind.whole(body, scene)
    return whole(body, completion.usage.completion, timing, Start(200, JSON + headers))


def _refusal(answer: Answer, headers: Headers) -> Iterable[Step]:
    """The answer at once; its headers come before the service's usual ones of that name."""
    own = {name for name, _ in answer.headers}
    kept = tuple(header for header in headers if header[0] not in own)
    yield Start(answer.status, answer.headers + kept, len(answer.body))
    if answer.body:
        yield Piece(answer.body)
