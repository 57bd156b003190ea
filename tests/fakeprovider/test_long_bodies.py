"""A body that takes long to read holds up nobody else."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.protocols.dialect import DIALECTS, by_endpoint
from fakeprovider.replies import Reply, say
from fakeprovider.server import Server
from fakeprovider.serving.provider import LONG

ASIDES = [path for dialect in DIALECTS.values() for path in dialect.asides]


def test_others_are_answered_while_a_long_body_is_read() -> None:
    begun, others_answered = threading.Event(), threading.Event()

    def waits(conversation: Conversation) -> Reply:
        """Replies to a long request only once a short one has been answered."""
        if len(conversation.user_messages[0]) > 10:
            begun.set()
            assert others_answered.wait(30)
        return say("Done.")

    def ask(server: Server, text: str) -> int:
        body = {"model": "any", "messages": [{"role": "user", "content": text}]}
        return httpx.post(f"{server.base_url}/chat/completions", json=body, timeout=60).status_code

    with Server(waits) as server:
        statuses: list[int] = []
        long = threading.Thread(target=lambda: statuses.append(ask(server, "ab " * LONG)))
        long.start()
        assert begun.wait(30)
        assert ask(server, "hello") == 200
        assert httpx.get(f"{server.url}/healthz").status_code == 200
        others_answered.set()
        long.join(60)
    assert statuses == [200]


@pytest.mark.parametrize("path", ASIDES)
def test_others_are_answered_while_a_long_body_is_counted(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no script is asked about is read in the thread like the rest."""
    begun, others_answered = threading.Event(), threading.Event()
    asides = by_endpoint()[path].asides
    assert isinstance(asides, dict)
    answer = asides[path]

    def waits(body: bytes, *rest: Any) -> Any:
        if len(body) > LONG:
            begun.set()
            assert others_answered.wait(10)
        return answer(body, *rest)

    monkeypatch.setitem(asides, path, waits)

    def ask(server: Server, padding: str) -> int:
        said = {"messages": [{"role": "user", "content": "go"}], "input": "go", "pad": padding}
        body = json.dumps({"model": "any", **said}).encode()
        return httpx.post(f"{server.base_url}{path}", content=body, timeout=60).status_code

    with Server("plan") as server:
        statuses: list[int] = []
        long = threading.Thread(target=lambda: statuses.append(ask(server, "a" * LONG)))
        long.start()
        assert begun.wait(30)
        assert ask(server, "") == 200
        others_answered.set()
        long.join(60)
    assert statuses == [200]
