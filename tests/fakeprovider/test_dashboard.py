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
    assert len(client.get("/_journal?run=end&last=99").json()["exchanges"]) == 3
    assert client.get("/_journal?run=end&last=0").json()["exchanges"] == []


@pytest.mark.parametrize(
    ("method", "page", "message"),
    [
        ("GET", "_journal?limit=3", "Unknown parameter 'limit'; allowed: run, last."),
        ("GET", "_journal?last=x", "last must be a number such as 30, not 'x'."),
        ("GET", "_journal?last=-1", "last must be a number such as 30, not '-1'."),
        ("GET", "_journal?last=", "last must be a number such as 30, not ''."),
        ("GET", "_journal?run=a&run=b", "The parameter 'run' is given more than once."),
        ("DELETE", "_journal?last=3", "Unknown parameter 'last'; allowed: run."),
        ("DELETE", "_journal?runs=a", "Unknown parameter 'runs'; allowed: run."),
        ("GET", "_verdict?cap=x", "cap must be a number such as 30, not 'x'."),
        ("GET", "_verdict?limit=1", "Unknown parameter 'limit'; allowed: run, cap, clause."),
        ("GET", "_verdict?clause=x", "unknown clause 'x'; there are: "),
    ],
)
def test_a_question_that_is_not_understood_is_a_400(
    client: httpx.Client, method: str, page: str, message: str
) -> None:
    """Never an answer to another question, and nothing is forgotten by mistake."""
    before = len(client.get("/_journal").json()["exchanges"])
    reply = client.request(method, f"/{page}")
    assert reply.status_code == 400
    assert message in reply.json()["error"]
    assert len(client.get("/_journal").json()["exchanges"]) == before


def test_what_is_asked_at_length_is_cut_in_the_answer(client: httpx.Client) -> None:
    error = client.get("/_journal?last=" + "9" * 5000).json()["error"]
    assert error == f"last must be a number such as 30, not '{'9' * 40}...'."
    assert client.get("/_verdict?clause=cap&clause=history").status_code == 200


def test_the_services_own_paths_take_any_query_string(client: httpx.Client) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
    assert client.post("/plan/v1/chat/completions?limit=3&x", json=body).status_code == 200
    assert client.get("/v1/models?limit=3").status_code == 200
    assert client.get("/healthz?x=1").status_code == 200


def test_the_key_guards_the_service_and_not_the_pages_about_it() -> None:
    """A test or a browser looks at them, and neither has the client's key."""
    with Server("plan", api_key="right") as server, httpx.Client(base_url=server.url) as client:
        for page in ("/", "/healthz", "/_journal", "/_verdict"):
            assert client.get(page).status_code == 200
        assert client.get("/v1/models").status_code == 401
        assert client.post("/v1/chat/completions", json={}).status_code == 401


def test_the_models_of_a_script_that_is_not_there_are_not_listed(server: Server) -> None:
    for path in ("runawy/v1/models", "runawy/v1/models/plan", "plan;nosuch=2/v1/models"):
        answer = httpx.get(f"{server.url}/{path}")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"]
    assert httpx.get(f"{server.url}/runaway/v1/models").status_code == 200
