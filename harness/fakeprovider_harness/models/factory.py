"""A model client by the name of its protocol."""

from __future__ import annotations

from typing import Any, Literal

from fakeprovider_harness.models.chat import ChatModel
from fakeprovider_harness.models.client import HttpModel
from fakeprovider_harness.models.messages import MessagesModel
from fakeprovider_harness.models.responses import ResponsesModel

Protocol = Literal["chat", "messages", "responses"]

PROTOCOLS: dict[str, type[HttpModel]] = {
    "chat": ChatModel,
    "messages": MessagesModel,
    "responses": ResponsesModel,
}


def make_model(
    protocol: Protocol | str = "chat",
    base_url: str | None = None,
    model: str = "default",
    api_key: str | None = None,
    **settings: Any,
) -> HttpModel:
    """The client that speaks `protocol`; the other arguments are those of `HttpModel`.

    Raises ValueError for an unknown protocol, naming those there are.
    """
    kind = PROTOCOLS.get(protocol)
    if kind is None:
        raise ValueError(f"unknown protocol {protocol!r}: one of {', '.join(PROTOCOLS)}")
    return kind(base_url, model, api_key, **settings)
