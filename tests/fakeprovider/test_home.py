"""The page for a person, and the same for a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterator

import httpx
import pytest

from fakeprovider.conversation import Conversation
from fakeprovider.replies import Reply, say
from fakeprovider.scripts import discover
from fakeprovider.server import Server


def risky(conversation: Conversation) -> Reply:
    """Says <b>nothing</b> & "more"."""
    return say("x")


@pytest.fixture(scope="module")
def client() -> Iterator[httpx.Client]:
    server = Server("plan", scripts={"risky": risky})
    with server, httpx.Client(timeout=60) as made:
        made.base_url = httpx.URL(server.url)
        yield made


def test_a_browser_gets_each_scripts_base_url_to_copy_and_each_one_answers(
    client: httpx.Client,
) -> None:
    reply = client.get("/", headers={"accept": "text/html,*/*"})
    assert reply.headers["content-type"].startswith("text/html")
    urls = re.findall(r'data-copy="([^"]+)"', reply.text)
    assert len(urls) == len(discover()) + 1
    for url in urls:
        assert client.get(f"{url}/models").status_code == 200


def test_what_scripts_say_of_themselves_is_text_not_markup(client: httpx.Client) -> None:
    html = client.get("/", headers={"accept": "text/html"}).text
    assert "Says &lt;b&gt;nothing&lt;/b&gt; &amp; &quot;more&quot;." in html


def test_a_terminal_gets_plain_lines(client: httpx.Client) -> None:
    text = client.get("/").text
    assert f"  {str(client.base_url).rstrip('/')}/plan/v1\n" in text
    assert "<" not in text


def test_the_journal_can_be_asked_for_its_end(client: httpx.Client) -> None:
    """Which the page does each second, however long the journal is."""
    for number in range(3):
        body = {"model": f"m{number}", "messages": [{"role": "user", "content": "x"}]}
        client.post("/~end/risky/v1/chat/completions", json=body)
    found = client.get("/_journal", params={"run": "end", "last": "2"}).json()["exchanges"]
    assert [one["model"] for one in found] == ["m1", "m2"]
    assert len(client.get("/_journal?run=end&last=x").json()["exchanges"]) == 3
    assert len(client.get("/_journal?run=end&last=" + "9" * 5000).json()["exchanges"]) == 3
    assert client.get("/_journal?run=end&last=0").json()["exchanges"] == []
