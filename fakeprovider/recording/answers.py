"""Answers of each dialect, whole or streamed, as a script's reply is written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from fakeprovider.recording import chat_answers, messages_answers, responses_answers
from fakeprovider.recording.written import NotAnAnswer, Written

_Read: TypeAlias = Callable[[bytes], Written]

_READ: dict[str, tuple[_Read, _Read]] = {
    "chat": (chat_answers.whole, chat_answers.streamed),
    "messages": (messages_answers.whole, messages_answers.streamed),
    "responses": (responses_answers.whole, responses_answers.streamed),
}


def read_answer(body: bytes, *, streamed: bool, dialect: str = "chat") -> Written:
    """The reply in a response body; raises `NotAnAnswer`."""
    try:
        return _READ[dialect][streamed](body)
    except NotAnAnswer:
        raise
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError) as error:
        raise NotAnAnswer(f"{type(error).__name__}: {error}") from error
