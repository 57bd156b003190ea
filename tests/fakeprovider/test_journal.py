"""The journal: what it records, what it keeps, and what it gives back."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import httpx
import pytest
from processes import Serve

from fakeprovider import journal
from fakeprovider.journal import Exchange, Journal
from fakeprovider.server import Server

TOOLS = [{"type": "function", "function": {"name": "list_files"}}]
BODY = {"model": "gpt", "messages": [{"role": "user", "content": "go"}], "tools": TOOLS}


def test_an_exchange_says_what_happened(server: Server, http: httpx.Client) -> None:
    """Run key, script, turn, usage, tools, digest, timing, and the SDK's own retry count."""
    url = f"{server.url_for('runaway', run='told')}/chat/completions"
    content = json.dumps({**BODY, "stream": True}).encode()
    http.post(url, content=content, headers={"x-stainless-retry-count": "2"})
    (found,) = server.journal.exchanges("told")
    assert (found.run, found.script, found.turn, found.attempt) == ("told", "runaway", 0, 2)
    assert (found.protocol, found.path) == ("chat", "/~told/runaway/v1/chat/completions")
    assert (found.status, found.stream, found.model) == (200, True, "gpt")
    assert found.digest == hashlib.sha256(content).hexdigest()
    assert found.tools == ("list_files",)
    assert found.usage is not None
    assert found.usage.completion_tokens == 23
    assert found.ms > 0
    assert not found.cancelled
    assert found.request is None


def test_the_run_key_by_header(server: Server, http: httpx.Client) -> None:
    """For a client whose base URL cannot be had; the path's key comes first."""
    for base in (server.base_url, server.url_for(run="in-path")):
        http.post(f"{base}/chat/completions", json=BODY, headers={"x-fake-run": "in-header"})
    assert len(server.journal.exchanges("in-header")) == 1
    assert len(server.journal.exchanges("in-path")) == 1


def test_what_is_refused_is_journaled(server: Server, http: httpx.Client) -> None:
    """With the error's words, and the rule that the transcript breaks."""
    url = f"{server.url_for(run='refused')}/chat/completions"
    result = {"role": "tool", "tool_call_id": "x", "content": "?"}
    http.post(url, content=b"{")
    http.post(url, json={**BODY, "messages": [*BODY["messages"], result]})  # type: ignore[misc]
    first, second = server.journal.exchanges("refused")
    assert (first.status, first.turn) == (400, None)
    assert "not JSON" in first.error
    assert [(one.rule, one.index) for one in second.violations] == [("orphan_result", 1)]


def test_a_lenient_server_serves_and_journals() -> None:
    """The broken transcript is answered, and the journal says what was wrong."""
    call = {"id": "c", "function": {"name": "list_files", "arguments": "{"}}
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [call]}]
    with Server("runaway", strict=False) as server:
        url = f"{server.base_url}/chat/completions"
        reply = httpx.post(url, json={**BODY, "messages": messages})
    (found,) = server.journal.exchanges()
    assert reply.status_code == found.status == 200
    assert [one.rule for one in found.violations] == ["unanswered_call"]
    assert [one.rule for one in found.notes] == ["arguments_not_json"]


def test_over_http(server: Server, http: httpx.Client) -> None:
    """`GET` and `DELETE /_journal`, of one run or of all."""
    for run in ("one", "one", "two"):
        http.post(f"{server.url_for(run=run)}/chat/completions", json=BODY)
    ones = http.get(f"{server.url}/_journal", params={"run": "one"}).json()["exchanges"]
    assert [exchange["run"] for exchange in ones] == ["one", "one"]
    assert set(ones[0]) == set(Exchange.__struct_fields__)
    every = http.get(f"{server.url}/_journal").json()["exchanges"]
    assert {"one", "two"} <= {exchange["run"] for exchange in every}
    gone = http.delete(f"{server.url}/_journal", params={"run": "one"}).json()
    assert gone == {"deleted": 2}
    assert server.journal.exchanges("one") == []
    assert len(server.journal.exchanges("two")) == 1


def test_a_file_has_a_line_for_each(serve: Serve, http: httpx.Client, tmp_path: Path) -> None:
    """Flushed as it happens, readable while the server runs, and appended to."""
    path = tmp_path / "journal.jsonl"
    path.write_bytes(b"")
    process = serve("--journal", str(path))
    for _ in range(3):
        http.post(f"{process.url}/~file/v1/chat/completions", json=BODY)
        http.get(f"{process.url}/_journal")  # answered after the line above was written
    found = journal.read(path)
    assert [exchange.number for exchange in found] == [1, 2, 3]
    told = http.get(f"{process.url}/_journal").json()["exchanges"]
    assert [json.loads(line) for line in path.read_text().splitlines()] == told


def test_a_file_that_was_cut_off_is_read_to_its_last_line(tmp_path: Path) -> None:
    """What a killed server leaves behind."""
    path = tmp_path / "journal.jsonl"
    written = Journal(path)
    written.write(Exchange(run="a"))
    written.write(Exchange(run="b"))
    written.close()
    whole = path.read_bytes()
    path.write_bytes(whole + whole[:40])
    assert [exchange.run for exchange in journal.read(path)] == ["a", "b"]


def test_bodies_if_asked_for() -> None:
    """What was sent and what was answered, in full."""
    kept = Journal(bodies=True)
    with Server("runaway", journal=kept) as server:
        url = f"{server.base_url}/chat/completions"
        replies = [httpx.post(url, json={**BODY, "stream": stream}) for stream in (False, True)]
    for reply, exchange in zip(replies, kept.exchanges(), strict=True):
        assert exchange.request == reply.request.content.decode()
        assert exchange.response == reply.text


@pytest.mark.parametrize(("keep", "limit"), [(3, 1 << 20), (1000, 3500)])
def test_the_ring_is_bounded(keep: int, limit: int) -> None:
    """By number and by bytes, keeping the newest; numbers go on."""
    ring = Journal(keep=keep, limit=limit)
    for _ in range(10):
        ring.write(Exchange())
    assert [exchange.number for exchange in ring.exchanges()] == [8, 9, 10]
    assert ring.clear() == 3
    assert ring.write(Exchange()).number == 11


def test_what_a_client_wrote_counts_into_the_bound() -> None:
    """Names and messages may be as long as a body: ten thousand of those are not kept."""
    ring = Journal(limit=1 << 20)
    for number in range(10):
        ring.write(Exchange(model="m" * 400_000, error=f"no model {number}"))
    assert [exchange.number for exchange in ring.exchanges()] == [9, 10]


@pytest.mark.parametrize("half", [b'{"run":"c', b"x" * (5 << 19)], ids=["short", "over a block"])
def test_a_server_goes_on_where_a_killed_one_left_half_a_line(tmp_path: Path, half: bytes) -> None:
    path = tmp_path / "journal.jsonl"
    for run in ("a", "b"):
        written = Journal(path)
        written.write(Exchange(run=run))
        written.close()
        path.write_bytes(path.read_bytes() + half)
    Journal(path).close()
    assert [exchange.run for exchange in journal.read(path)] == ["a", "b"]
    assert path.read_bytes().endswith(b"}\n")


def test_a_pipe_will_do_as_a_file() -> None:
    """As in `--journal /dev/stderr`."""
    reader, writer = os.pipe()
    written = Journal(f"/dev/fd/{writer}")
    written.write(Exchange(run="a"))
    written.close()
    os.close(writer)
    with open(reader, "rb") as lines:
        assert [json.loads(line)["run"] for line in lines] == ["a"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_is_said_once_and_replies_go_on(caplog: pytest.LogCaptureFixture) -> None:
    with Server("plan", journal=Path("/dev/full")) as server:
        body = {"model": "plan", "messages": [{"role": "user", "content": "Hello."}]}
        for _ in range(3):
            answer = httpx.post(f"{server.base_url}/chat/completions", json=body)
            assert answer.status_code == 200
        assert len(server.journal.exchanges()) == 3
    (said,) = [record.getMessage() for record in caplog.records if record.name == "fakeprovider"]
    assert said == (
        "the journal /dev/full is incomplete from exchange 1 on: No space left on device; "
        "replies go on"
    )
