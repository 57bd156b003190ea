"""Model clients and the shapes between them and the loop."""

from fakeprovider_harness.models.base import (
    Attempt,
    Call,
    CancelSignal,
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    Role,
    Timeouts,
    ToolSpec,
    Usage,
)
from fakeprovider_harness.models.chat import ChatModel
from fakeprovider_harness.models.client import PROTOCOLS, make_model
from fakeprovider_harness.models.messages import MessagesModel
from fakeprovider_harness.models.responses import ResponsesModel

__all__ = [
    "PROTOCOLS",
    "Attempt",
    "Call",
    "CancelSignal",
    "ChatModel",
    "Message",
    "MessagesModel",
    "Model",
    "ModelCancelled",
    "ModelError",
    "ModelReply",
    "ResponsesModel",
    "Role",
    "Timeouts",
    "ToolSpec",
    "Usage",
    "make_model",
]
