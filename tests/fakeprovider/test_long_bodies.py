"""A body that takes long to read holds up nobody else."""

from __future__ import annotations

import threading

import httpx

from fakeprovider.conversation import Conversation
from fakeprovider.provider import LONG
from fakeprovider.replies import Reply, say
from fakeprovider.server import Server


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
