"""Requests that come again, alike to the last byte: the same answer goes out, without more ado.

Identical runs ask identical things. Only the scripts of this package are not asked again, since
they are known to be pure; anything else that has a say, such as a gate or a fault, has it anew.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

from fakeprovider.errors import ApiError
from fakeprovider.faults import NONE
from fakeprovider.journal import Exchange
from fakeprovider.parsing.caches import LONGEST, ByteBoundedCache
from fakeprovider.scripts import Script, is_builtin
from fakeprovider.serving.asgi import Event, Head
from fakeprovider.serving.provider import Provider
from fakeprovider.serving.request_context import RequestContext

_LIMIT = 8 << 20  # bytes of what is remembered

Key: TypeAlias = tuple[str, Head, bytes]


class Answered(NamedTuple):
    """A whole reply as the two events that are sent, and what the journal said of it.

    `named` is the script that was asked for beside the model, `script` what answered.
    """

    named: str
    script: Script
    events: tuple[Event, Event]
    told: Exchange


class Repeats:
    """The answers to short requests that only their bytes decided."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self._answers: ByteBoundedCache[Key, Answered] = ByteBoundedCache(_LIMIT)

    def find(self, context: RequestContext) -> Answered | None:
        """The answer that was given to the same request, if it would be given again."""
        provider = self._provider
        if provider.gate is not None or provider.faults.orders is not NONE:
            return None
        found = self._answers.get((context.path, context.head, context.body))
        return None if found is None or self._choice(found) is not found.script else found

    def _choice(self, found: Answered) -> Script | None:
        """What would answer now: scripts come and go while the server runs."""
        try:
            return self._provider.choose(found.named, found.told.model)[1]
        except ApiError:
            return None

    def keep(self, context: RequestContext, events: tuple[Event, Event]) -> None:
        """Remember a whole reply that the journal has heard of, if it may go out again."""
        script, told = context.chosen, context.told
        if script is None or told is None or told.request is not None or not is_builtin(script):
            return
        if context.plain and len(context.body) <= LONGEST:
            size = len(context.body) + len(context.path) + len(events[1]["body"]) + told.size + 2000
            answered = Answered(context.named, script, events, told)
            self._answers.put((context.path, context.head, context.body), answered, size)
