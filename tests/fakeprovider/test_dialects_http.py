"""What stands around the replies: errors, keys, headers, models, paths, in each dialect's shape."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest

from fakeprovider.server import Server

KEY = "sk-right"
BODIES: dict[str, Any] = {
    "/v1/chat/completions": {"model": "m", "messages": [{"role": "user", "content": "go"}]},
    "/v1/messages": {
        "model": "m",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": "go"}],
    },
    "/v1/responses": {"model": "m", "input": "go"},
}
PATHS = list(BODIES)
ASIDES: dict[str, Any] = {
    "/v1/messages/count_tokens": {"model": "m", "messages": [{"role": "user", "content": "go"}]},
    "/v1/responses/input_tokens": {"model": "m", "input": "go"},
    "/v1/embeddings": {"model": "m", "input": "go"},
}


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server("plan") as running:
        yield running


@pytest.fixture(scope="module")
def locked() -> Iterator[Server]:
    with Server("plan", api_key=KEY) as running:
        yield running


@pytest.fixture(scope="module")
def http() -> Iterator[httpx.Client]:
    with httpx.Client(timeout=10) as client:
        yield client


def error_of(path: str, reply: httpx.Response) -> dict[str, Any]:
    """The error object, after a look at its dialect's frame."""
    body = reply.json()
    assert reply.headers["content-type"] == "application/json"
    if "/messages" in path:
        assert body["type"] == "error"
        assert body["request_id"] == reply.headers["request-id"]
        assert set(body["error"]) >= {"type", "message"}
    else:
        assert set(body) == {"error"}
        assert set(body["error"]) == {"message", "type", "param", "code"}
    return dict(body["error"])


@pytest.mark.parametrize("path", [*PATHS, *ASIDES])
def test_a_wrong_or_missing_key_is_a_real_401_in_the_dialects_shape(
    locked: Server, http: httpx.Client, path: str
) -> None:
    body = {**BODIES, **ASIDES}[path]
    kind = "authentication_error" if "/messages" in path else "invalid_request_error"
    for headers in ({}, {"authorization": "Bearer sk-wrong"}, {"x-api-key": ""}):
        reply = http.post(locked.url + path, json=body, headers=headers)
        assert reply.status_code == 401
        assert error_of(path, reply)["type"] == kind
        assert reply.headers["x-should-retry"] == "false"


@pytest.mark.parametrize("path", [*PATHS, *ASIDES])
@pytest.mark.parametrize(
    "headers",
    [{"authorization": f"Bearer {KEY}"}, {"x-api-key": KEY}, {"api-key": KEY}],
    ids=lambda headers: next(iter(headers)),
)
def test_the_right_key_is_taken_in_any_dialects_header(
    locked: Server, http: httpx.Client, path: str, headers: dict[str, str]
) -> None:
    reply = http.post(locked.url + path, json={**BODIES, **ASIDES}[path], headers=headers)
    assert reply.status_code == 200


def test_the_sdks_see_their_own_authentication_errors(locked: Server) -> None:
    with (
        openai.OpenAI(base_url=locked.base_url, api_key="x") as gpt,
        anthropic.Anthropic(base_url=locked.url, api_key="x") as claude,
    ):
        with pytest.raises(openai.AuthenticationError):
            gpt.models.list()
        with pytest.raises(openai.AuthenticationError):
            gpt.responses.create(**BODIES["/v1/responses"])
        with pytest.raises(anthropic.AuthenticationError):
            claude.messages.create(**BODIES["/v1/messages"])
        with pytest.raises(anthropic.AuthenticationError):
            claude.models.list()


def test_health_and_journal_need_no_key(locked: Server, http: httpx.Client) -> None:
    assert http.get(f"{locked.url}/healthz").status_code == 200
    assert http.get(f"{locked.url}/_journal").status_code == 200


@pytest.mark.parametrize("path", PATHS)
def test_every_reply_tells_its_id_and_the_rate_limits(
    server: Server, http: httpx.Client, path: str
) -> None:
    one, again = (http.post(server.url + path, json=BODIES[path]) for _ in range(2))
    streamed = http.post(server.url + path, json={**BODIES[path], "stream": True})
    refused = http.post(server.url + path, json={})
    limits = "anthropic-ratelimit-requests-" if "messages" in path else "x-ratelimit-"
    for reply in (one, streamed, refused):
        assert reply.headers["x-request-id"].startswith("req_")
        assert any(name.startswith(limits) for name in reply.headers)
    assert one.headers["x-request-id"] == again.headers["x-request-id"]
    assert one.headers["x-request-id"] != streamed.headers["x-request-id"]
    assert one.content == again.content


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        ({"content": b"{"}, 400, "not JSON"),
        ({"json": {}}, 400, "equired"),
        ({"json": [], "headers": {"content-type": "text/plain"}}, 415, "content type"),
        ({"content": b'{"a":' + b"[" * 50_000 + b"]" * 50_000 + b"}"}, 400, "nested too deeply"),
    ],
    ids=["json", "missing", "type", "nested"],
)
def test_errors_come_in_the_dialects_shape(
    server: Server, http: httpx.Client, path: str, sent: Any, status: int, words: str
) -> None:
    reply = http.post(server.url + path, **sent)
    assert reply.status_code == status
    assert words in error_of(path, reply)["message"]


@pytest.mark.parametrize("path", PATHS)
def test_an_unknown_script_is_not_found_and_the_known_ones_are_named(
    server: Server, http: httpx.Client, path: str
) -> None:
    reply = http.post(f"{server.url}/nosuch{path}", json=BODIES[path])
    assert reply.status_code == 404
    error = error_of(path, reply)
    assert "runaway" in error["message"]
    if "/messages" in path:
        assert error["type"] == "not_found_error"
    else:
        assert error["code"] == "model_not_found"


@pytest.mark.parametrize("path", [*PATHS, *ASIDES])
def test_another_method_is_a_405(server: Server, http: httpx.Client, path: str) -> None:
    reply = http.get(server.url + path)
    assert reply.status_code == 405
    assert reply.headers["allow"] == "POST"
    error_of(path, reply)


def test_an_unknown_path_is_a_404_in_json_never_a_200(server: Server, http: httpx.Client) -> None:
    """An unknown endpoint that answers 200 misleads."""
    for path in ("/v1/messages/batches", "/v1/threads", "/v1/responses/resp_1", "/api/chat"):
        reply = http.post(server.url + path, json={})
        assert reply.status_code == 404
        assert reply.json()["error"]["type"] == "invalid_request_error"
        claude = http.post(server.url + path, json={}, headers={"anthropic-version": "x"})
        assert claude.json()["type"] == "error"
        assert claude.json()["error"]["type"] == "not_found_error"


def test_models_are_listed_in_the_dialect_of_who_asks(server: Server) -> None:
    with (
        openai.OpenAI(base_url=server.base_url, api_key="x") as gpt,
        anthropic.Anthropic(base_url=server.url, api_key="x") as claude,
    ):
        theirs = [model.id for model in gpt.models.list()]
        assert theirs == [model.id for model in claude.models.list()]
        assert {"plan", "runaway"} <= set(theirs)
        assert gpt.models.retrieve("plan").object == "model"
        assert claude.models.retrieve("plan").type == "model"
        with pytest.raises(openai.NotFoundError):
            gpt.models.retrieve("nosuch")
        with pytest.raises(anthropic.NotFoundError):
            claude.models.retrieve("nosuch")


def test_head_and_get_of_the_root_are_answered(server: Server, http: httpx.Client) -> None:
    """Claude Code starts with `HEAD /`."""
    assert http.head(server.url + "/").status_code == 200
    assert http.get(server.url + "/").status_code == 200
    assert http.head(server.url + "/v1/models").status_code == 200


def test_query_strings_and_any_version_headers_are_taken(
    server: Server, http: httpx.Client
) -> None:
    reply = http.post(
        f"{server.url}/v1/messages?beta=true",
        json=BODIES["/v1/messages"],
        headers={"anthropic-version": "2099-01-01", "anthropic-beta": "x,y"},
    )
    assert reply.status_code == 200


def test_azures_paths_lead_to_the_deployments_script(server: Server, http: httpx.Client) -> None:
    with openai.AzureOpenAI(
        azure_endpoint=server.url, api_key="x", api_version="2024-10-21"
    ) as azure:
        found = azure.chat.completions.create(
            model="runaway", messages=[{"role": "user", "content": "go"}], tools=[TOOL]
        )
        assert found.model == "runaway"
        assert found.choices[0].finish_reason == "tool_calls"
        assert azure.embeddings.create(model="e", input="x").model == "e"
    path = "/runaway/openai/deployments/gpt-x/chat/completions?api-version=1"
    bare = http.post(server.url + path, json={"messages": [{"role": "user", "content": "go"}]})
    assert bare.json()["model"] == "gpt-x"
    assert (
        http.post(f"{server.url}/openai/v1/responses", json={"model": "m", "input": "go"}).json()[
            "object"
        ]
        == "response"
    )


TOOL: Any = {"type": "function", "function": {"name": "list_files"}}


def test_a_model_that_nobody_names_is_a_missing_parameter(
    server: Server, http: httpx.Client
) -> None:
    for path in PATHS:
        body = {key: value for key, value in BODIES[path].items() if key != "model"}
        reply = http.post(server.url + path, json=body)
        assert reply.status_code == 400
        assert "model" in error_of(path, reply)["message"]


def test_embeddings_are_unit_vectors_the_same_in_both_encodings(server: Server) -> None:
    """The SDK asks for base64 unless told otherwise."""
    texts = ["The cat sat on the mat.", "The cat sat on a mat.", "Quarterly revenue grew."]
    with openai.OpenAI(base_url=server.base_url, api_key="x") as gpt:
        packed = gpt.embeddings.create(model="e", input=texts)
        plain = gpt.embeddings.create(model="e", input=texts, encoding_format="float")
        assert [one.embedding for one in packed.data] == [one.embedding for one in plain.data]
        vectors = [one.embedding for one in packed.data]
        for vector in vectors:
            assert len(vector) == 1536
            assert sum(number * number for number in vector) == pytest.approx(1, abs=1e-5)
        assert dot(vectors[0], vectors[1]) > 0.5 > dot(vectors[0], vectors[2])
        small = gpt.embeddings.create(model="e", input="x", dimensions=8)
        assert len(small.data[0].embedding) == 8
        assert packed.usage.prompt_tokens > 0
        ids = gpt.embeddings.create(model="e", input=[[1, 2], [3]])
        assert [one.index for one in ids.data] == [0, 1]


@pytest.mark.parametrize("bad", ["", [], ["x", ""], [[]]])
def test_nothing_to_embed_is_a_400(server: Server, bad: Any) -> None:
    with (
        openai.OpenAI(base_url=server.base_url, api_key="x") as gpt,
        pytest.raises(openai.BadRequestError),
    ):
        gpt.embeddings.create(model="e", input=bad)


def dot(one: list[float], two: list[float]) -> float:
    return sum(a * b for a, b in zip(one, two, strict=True))


def test_a_transcript_that_is_refused_by_messages_is_refused_by_count_tokens_too(
    server: Server, http: httpx.Client
) -> None:
    """UKGovernmentBEIS/inspect_ai#3108."""
    broken = [
        {"role": "user", "content": "go"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}],
        },
        {"role": "user", "content": "?"},
    ]
    for path in ("/v1/messages", "/v1/messages/count_tokens"):
        reply = http.post(
            server.url + path, json={"model": "m", "max_tokens": 9, "messages": broken}
        )
        assert reply.status_code == 400
        assert error_of(path, reply)["message"].startswith("messages.1: ")


def test_a_count_of_input_tokens_is_what_the_same_request_reports(server: Server) -> None:
    """In the dialects that have such an endpoint."""
    with openai.OpenAI(base_url=server.base_url, api_key="x") as gpt:
        asked: Any = {"model": "m", "input": "go", "instructions": "Be brief.", "tools": [NAMED]}
        counted = gpt.responses.input_tokens.count(**asked)
        usage = gpt.responses.create(**asked).usage
    assert usage is not None
    assert counted.input_tokens == usage.input_tokens
    with anthropic.Anthropic(base_url=server.url, api_key="x") as claude:
        body: Any = {**BODIES["/v1/messages"], "system": "Be brief."}
        spent = claude.messages.create(**body).usage.input_tokens
        del body["max_tokens"]
        assert claude.beta.messages.count_tokens(**body).input_tokens == spent


NAMED: Any = {"type": "function", "name": "list_files", "parameters": {}, "strict": False}


def test_the_tool_runner_of_the_sdk_recovers_from_the_refusal_of_threads(server: Server) -> None:
    """Its first request opens a thread on the server; after the refusal it sends the history."""
    seen: list[str] = []

    @anthropic.beta_tool
    def list_files() -> str:
        """List the files."""
        seen.append("list_files")
        return '["errors.log"]'

    @anthropic.beta_tool
    def read_file(path: str) -> str:
        """Read a file."""
        seen.append(f"read_file:{path}")
        return "ERROR timeout"

    with anthropic.Anthropic(base_url=server.url, api_key="x") as claude:
        runner = claude.beta.messages.tool_runner(
            model="m",
            max_tokens=1000,
            tools=[list_files, read_file],
            messages=[{"role": "user", "content": "Which file mentions a timeout?"}],
        )
        final = runner.until_done()
    assert seen == ["list_files", "read_file:errors.log"]
    assert "timeout" in json.dumps(final.to_dict())
