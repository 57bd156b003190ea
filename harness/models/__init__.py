"""Model clients and the shapes between them and the loop."""

from .base import (
    Attempt,
    Call,
    CancelSignal,
    Message,
    Model,
    ModelCancelled,
    ModelError,
    ModelReply,
    Role,
    ToolSpec,
    Usage,
)
from .chat import ChatModel
from .messages import MessagesModel
from .timeouts import Timeouts

__all__ = [
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
    "Role",
    "Timeouts",
    "ToolSpec",
    "Usage",
]
