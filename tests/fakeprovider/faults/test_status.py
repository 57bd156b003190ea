"""Errors by status: a real status line, and a body in the dialect's own shape."""

from __future__ import annotations

from email.utils import parsedate_to_datetime

import pytest
from faulty_replies import Send

from fakeprovider.faults import FAULTS

# fault: status, then type and code in OpenAI's dialects, then Anthropic's type
EXPECTED: dict[str, tuple[int, str, str | None, str]] = {
    "bad_request": (400, "invalid_request_error", "invalid_value", "invalid_request_error"),
    "unauthorized": (401, "invalid_request_error", "invalid_api_key", "authentication_error"),
    "forbidden": (
        403,
        "invalid_request_error",
        "unsupported_country_region_territory",
        "permission_error",
    ),
    "model_not_found": (404, "invalid_request_error", "model_not_found", "not_found_error"),
    "request_timeout": (408, "invalid_request_error", "request_timeout", "invalid_request_error"),
    "conflict": (409, "invalid_request_error", "conflict", "conflict_error"),
    "too_large": (413, "invalid_request_error", "request_too_large", "request_too_large"),
    "rate_limited": (429, "requests", "rate_limit_exceeded", "rate_limit_error"),
    "insufficient_quota": (429, "insufficient_quota", "insufficient_quota", "rate_limit_error"),
    "server_error": (500, "server_error", None, "api_error"),
    "unavailable": (
        503,
        "service_unavailable_error",
        "server_is_overloaded",
        "overloaded_error",
    ),
    "gateway_timeout": (504, "server_error", None, "timeout_error"),
    "overloaded": (529, "server_error", None, "overloaded_error"),
    "context_length_exceeded": (
        400,
        "invalid_request_error",
        "context_length_exceeded",
        "invalid_request_error",
    ),
    "http_error": (400, "invalid_request_error", None, "invalid_request_error"),
    "bad_gateway": (502, "", None, ""),
}
PAIRS = [
    (kind.name, dialect)
    for kind in FAULTS.values()
    if kind.group == "status"
    for dialect in sorted(kind.dialects)
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("fault", "dialect"), PAIRS)
def test_a_status_has_the_services_body_whether_or_not_a_stream_was_asked_for(
    sent: Send, fault: str, dialect: str, stream: bool
) -> None:
    found = sent(dialect, fault, stream=stream)
    status, openai, code, anthropic = EXPECTED[fault]
    assert found.status == status
    assert found.exchange.status == status
    assert found.exchange.fault == fault
    assert found.exchange.broken
    assert found.exchange.usage is None
    assert found.start.length == len(found.body)
    if fault == "bad_gateway":
        assert found.headers["content-type"] == "text/html"
        assert found.body.startswith(b"<html>\r\n<head><title>502 Bad Gateway</title></head>")
        return
    assert found.headers["content-type"] == "application/json"
    error = found.json["error"]
    if dialect == "messages":
        assert found.json["type"] == "error"
        assert error["type"] == anthropic
        assert found.json["request_id"] == found.headers["request-id"]
    else:
        assert (error["type"], error["code"]) == (openai, code)
    assert error["message"] == found.exchange.error


@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_a_rate_limit_says_when_to_come_back_in_each_of_its_forms(sent: Send, dialect: str) -> None:
    seconds = sent(dialect, "rate_limited,retry_after=2")
    assert seconds.headers["retry-after"] == "2"
    assert seconds.exchange.retry_after == 2
    date = sent(dialect, "rate_limited,retry_after=30,form=date")
    told = parsedate_to_datetime(date.headers["retry-after"]).timestamp()
    assert told == 1_800_000_031  # the request came at ...000.25: a date has no fraction
    assert date.exchange.retry_after == 30.75
    ms = sent(dialect, "rate_limited,retry_after=0.25,form=ms")
    assert ms.headers["retry-after-ms"] == "250"
    assert "retry-after" not in ms.headers
    none = sent(dialect, "rate_limited,form=none")
    assert not {"retry-after", "retry-after-ms"} & set(none.headers)
    assert none.exchange.retry_after is None


@pytest.mark.parametrize("dialect", ["chat", "messages", "responses"])
def test_a_rate_limit_says_that_no_request_is_left(sent: Send, dialect: str) -> None:
    headers = sent(dialect, "rate_limited").start.headers
    name = "requests-remaining" if dialect == "messages" else "remaining-requests"
    assert [value for key, value in headers if key.endswith(name)] == ["0"]


def test_a_context_that_is_too_long_is_told_in_the_services_words_or_in_others(
    sent: Send,
) -> None:
    fault = "context_length_exceeded,limit=100"
    assert (
        sent("chat", fault)
        .json["error"]["message"]
        .startswith("This model's maximum context length is 100 tokens. However, your messages ")
    )
    assert sent("responses", fault).json["error"]["param"] == "input"
    assert sent("messages", fault).json["error"]["message"] == (
        "prompt is too long: 101 tokens > 100 maximum"
    )
    odd = sent("chat", f"{fault},wording=odd").json["error"]
    assert odd["code"] == "context_length_exceeded"
    assert "context" not in odd["message"]
    bare = sent("chat", f"{fault},wording=bare").json["error"]
    assert bare["code"] is None
    assert bare["message"] == "Input length (101) exceeds model's maximum context length (100)."


def test_a_spent_account_of_anthropics_has_its_own_code_in_the_details(
    sent: Send,
) -> None:
    error = sent("messages", "insufficient_quota").json["error"]
    assert error["details"] == {"error_code": "enforced_spend_limit_reached"}


def test_http_error_refuses_what_is_no_error_status(sent: Send) -> None:
    assert sent("chat", "http_error,status=418,message=teapot").status == 418
    with pytest.raises(ValueError, match="status='200': must be 400 to 599"):
        sent("chat", "http_error,status=200")
