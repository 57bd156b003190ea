"""Errors of any status and body become one that says what to do."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from fakeprovider_harness.models import ChatModel, Message, ModelError, ModelReply

if TYPE_CHECKING:
    from tests.harness.conftest import Wire

USER = [Message("user", "hi")]


# ---------------------------------------------------------------- errors


@pytest.mark.parametrize(
    "body",
    [
        '{"error":{"message":"m-text","type":"invalid_request_error","param":null,"code":123}}',
        '{"error":"m-text","status":402}',
        '{"detail":"m-text"}',
        '{"detail":[{"loc":["body","messages",0,"role"],"msg":"m-text"}]}',
        '{"error_code":"BAD_REQUEST","message":"m-text"}',
        '{"error":{"error":{"message":"m-text"}}}',
        '[{"error":{"message":"m-text"}}]',
        "upstream m-text timeout",
        "<html><h1>502 m-text</h1></html>",
        '{"error":{"message":"m-text \\ud83d"}}',
    ],
)
@pytest.mark.parametrize("status", [400, 502])
def test_any_error_body_keeps_status_and_text(wire: type[Wire], body: str, status: int) -> None:
    error = wire.error(wire.Answer([body.encode()], status, "application/json"))
    assert error.status == status
    assert "m-text" in str(error)
    assert error.retryable is (status == 502)
    str(error).encode()


@pytest.mark.parametrize(
    "body", [b"", b"null", b"[]", b"{}", b"\xff\xfe", b"[" * 100_000, b'{"error":{}}']
)
def test_an_error_without_text_is_an_error_still(wire: type[Wire], body: bytes) -> None:
    assert wire.error(wire.Answer([body], 503)).status == 503


def test_the_kept_text_is_bounded(wire: type[Wire]) -> None:
    error = wire.error(wire.Answer([b"x" * 1_000_000], 500))
    assert 1_000 < len(str(error)) < 3_000


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (400, {"message": "odd wording", "code": "context_length_exceeded"}),
        (400, {"message": "Input length (9000) exceeds model's maximum context length (8192)."}),
        (400, {"message": "prompt is too long: 210000 tokens > 200000 maximum"}),
        (413, {"message": "Request exceeds the maximum size", "type": "request_too_large"}),
    ],
)
def test_overflow_is_recognised_whatever_its_words(
    wire: type[Wire], status: int, error: dict[str, str]
) -> None:
    found = wire.error(wire.refusal(status, **error))
    assert (found.code, found.retryable) == ("context_length_exceeded", False)


def test_a_rate_limit_in_tokens_per_minute_is_no_overflow(wire: type[Wire]) -> None:
    text = "Request too large for m on tokens per min (TPM): too many tokens"
    error = wire.error(wire.refusal(429, message=text, code="rate_limit_exceeded"))
    assert (error.code, error.retryable) == ("rate_limit_exceeded", True)


@pytest.mark.parametrize(
    "error",
    [
        {"message": "You exceeded your current quota", "type": "insufficient_quota"},
        {"message": "x", "type": "insufficient_quota", "code": "project_spend_limit_exceeded"},
        {"message": "x", "code": "credit_balance_exhausted"},
    ],
)
def test_cx02c_a_spent_quota_is_not_retryable(wire: type[Wire], error: dict[str, str]) -> None:
    found = wire.error(wire.refusal(429, **error))
    assert (found.code, found.retryable) == ("insufficient_quota", False)


@pytest.mark.parametrize(
    ("status", "retryable"),
    [
        *[(status, False) for status in (400, 401, 403, 404, 422)],
        *[(status, True) for status in (408, 409, 429, 500, 502, 503, 504, 529)],
    ],
)
def test_which_statuses_may_be_retried(wire: type[Wire], status: int, retryable: bool) -> None:
    error = wire.error(wire.refusal(status, message="x"))
    assert error.retryable is retryable


@pytest.mark.parametrize(("said", "status"), [("true", 400), ("false", 503)])
def test_the_service_may_say_whether_to_retry(wire: type[Wire], said: str, status: int) -> None:
    answer = wire.Answer([b"{}"], status, headers={"x-should-retry": said, "x-request-id": "r1"})
    error = wire.error(answer)
    assert error.retryable is (said == "true")
    assert error.request_id == "r1"


def test_an_error_whose_body_breaks_keeps_its_status(wire: type[Wire]) -> None:
    answer = wire.Answer([b'{"error', wire.RST], 503, "application/json", framing="chunked")
    error = wire.error(answer)
    assert (error.status, error.retryable, error.partial) == (503, True, None)


def test_a_redirect_is_not_followed_and_says_where_to(wire: type[Wire]) -> None:
    answer = wire.Answer([b""], 307, headers={"location": "https://elsewhere.test/v1"})
    error = wire.error(answer)
    assert "https://elsewhere.test/v1" in str(error)
    assert not error.retryable


def test_a_refused_connection_may_be_retried_and_cannot_have_been_charged() -> None:
    async def ask() -> None:
        server = await asyncio.start_server(lambda r, w: None, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        server.close()
        await ChatModel(f"http://127.0.0.1:{port}").ask(USER, [])

    with pytest.raises(ModelError, match="connection failed") as caught:
        asyncio.run(ask())
    assert (caught.value.status, caught.value.retryable) == (None, True)
    assert caught.value.partial is None


def test_a_connection_lost_before_the_answer_may_have_been_charged(wire: type[Wire]) -> None:
    answer = wire.Answer([wire.RST])
    answer.head = lambda: b""
    error = wire.error(answer)
    assert error.retryable
    assert error.partial == ModelReply(notes=error.partial.notes)  # type: ignore[union-attr]
