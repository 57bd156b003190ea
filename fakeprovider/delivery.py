"""A finished reply as the steps in which it goes out."""

from __future__ import annotations

from collections.abc import Iterable

from fakeprovider.completion import Completion
from fakeprovider.conversation import Conversation
from fakeprovider.job import Job
from fakeprovider.steps import AT_ONCE, JSON, Start, Step, Timing, streamed, whole


def delivery(job: Job, conversation: Conversation, completion: Completion) -> Iterable[Step]:
    """The steps of a reply, at its pace."""
    timing = Timing(completion.pace or AT_ONCE, conversation.digest)
    if conversation.stream:
        return streamed(job.dialect.render_stream(conversation, completion), timing, job.headers)
    body = job.dialect.render_whole(conversation, completion)
    start = Start(200, JSON + job.headers)
    return whole(body, completion.usage.completion, timing, start)
