"""The endpoint that a command's runs ask: a provider started here, or the URL that was given."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fakeprovider.tokens import count, encoding
from fakeprovider_bench.options import Options
from fakeprovider_harness.models import Message, Model, make_model

if TYPE_CHECKING:
    from fakeprovider.server import Server


def padding(system: str, tokens: int) -> str:
    """Text that makes `system`, put behind it, exactly `tokens` tokens longer.

    Counted as the provider counts, with o200k_base. Raises `ValueError` if no number of filler
    words comes out (none is known).
    """
    if tokens == 0:
        return ""
    want = count(system) + tokens
    for words in range(max(tokens - 8, 0), tokens + 9):
        text = "Context:" + " data" * words + "\n"
        if count(text + system) == want:
            return text
    raise ValueError(f"no padding of exactly {tokens} tokens")


CACHE_MARK = {"cache_control": {"type": "ephemeral"}}  # without it the service caches nothing


@dataclass
class Endpoint:
    """Makes model clients for a scenario's script.

    Against our own provider each client gets a run key of its own; against a given URL the script's
    name goes as the model's, unless a model was named.
    """

    base_url: str
    options: Options
    server: Server | None = None
    cached: bool = False
    _runs: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    def model(self, script: str) -> Model:
        """A client whose requests are answered by `script`."""
        return make_model(
            self.options.protocol,
            self.url(script),
            self.options.model or script,
            api_key=os.environ.get("LLM_API_KEY"),
            stream=self.options.stream,
            options=CACHE_MARK if self.cached and self.options.protocol == "messages" else None,
        )

    def url(self, script: str) -> str:
        """The base URL under which `script` answers, with a run key that nobody else has."""
        if self.server is None:
            return self.base_url
        return self.server.url_for(script, run=f"bench{next(self._runs)}")


@contextmanager
def open_endpoint(
    options: Options, *, cached: bool = False, timed: bool = True
) -> Iterator[Endpoint]:
    """The endpoint for one command; a provider started here is gone when it ends.

    `cached` asks for a provider with a simulated prompt cache; `timed` loads the tokenizer before
    the first row, where the clock decides what comes out. A short run never needs it.
    """
    if options.base_url:
        yield Endpoint(options.base_url, options, cached=cached)
        return
    from fakeprovider.server import Server  # late: a given URL needs no provider

    if timed:
        encoding()
    with Server(prompt_cache=cached) as server:
        endpoint = Endpoint(server.base_url, options, server, cached)
        asyncio.run(_warm(endpoint))
        yield endpoint


async def _warm(endpoint: Endpoint) -> None:
    """One exchange of its own run: what is loaded on first use is no part of the first row."""
    model = endpoint.model("plan")
    try:
        await model.ask([Message("user", "Are you there?")], [])
    finally:
        await model.aclose()
